/**
 * Why PostgreSQL can't store a text, null when it can. Found before SQL is sent, because there it would abort the caller's transaction.
 * Surrogates in pairs are fine.
 */
export function textFault(text: string): string | null {
  const nul = text.indexOf('\u0000')
  if (nul !== -1) return `the character U+0000 at index ${nul}`
  const lone = text.search(/\p{Surrogate}/u)
  return lone === -1 ? null : `half a surrogate pair (U+${text.charCodeAt(lone).toString(16).toUpperCase()}) at index ${lone}`
}

/** Length in UTF-8, without making the bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return bytes
}
