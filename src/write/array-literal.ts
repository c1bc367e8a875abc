const control = /[^ -\uffff]/

/**
 * One element of a PostgreSQL array literal; null is NULL, and `'NULL'` is that text. Of a text without control characters JSON.stringify
 * escapes quotes and backslashes only, just as a literal wants it, and does it many times faster. Surrogates are in pairs here.
 */
function element(value: string | null): string {
  if (value === null) return 'NULL'
  return control.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value)
}

/**
 * The text of a PostgreSQL array: `{"a",NULL}`. Built here and bound as text, so that every driver passes it on unchanged:
 * drivers differ in what they make of a JavaScript array, and of objects in it.
 */
export function arrayLiteral(values: readonly (string | null)[]): string {
  return `{${values.map(element).join(',')}}`
}

const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += hexOf[byte]
  return text
}
