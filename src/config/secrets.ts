import { shared } from './problems.ts'

/** Names of settings whose values are never shown. */
export function isSecretName(name: string): boolean {
  return /pass|secret|token|key$|credential|url$|uri$|dsn$/i.test(name)
}

// Shorter values, and words of Outrider's own texts, would blank out harmless text (and so tell the secret).
const shortestSecret = 4
const ownWords: ReadonlySet<string> = new Set([
  'outrider',
  'postgres',
  'kafka',
  'outbox',
  'inbox',
  'relay',
  'database',
  'password',
  'secret',
  'localhost',
])

/** From now on the value, or the password in it when it is a URL, is masked in everything that Outrider prints. */
export function rememberSecret(value: string): void {
  const { secrets } = shared()
  const password = /\/\/[^\s/:@]*:([^\s/]*)@/.exec(value)?.[1]
  const parts = password === undefined ? (value.includes('://') ? [] : [value]) : [password, decoded(password)]
  for (const part of parts) if (part.length >= shortestSecret && !ownWords.has(part.toLowerCase())) secrets.add(part)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Text without passwords: those in URLs, in `password=...`, and every value that was read as a secret. */
export function masked(text: string): string {
  let out = text
  for (const secret of shared().secrets) out = out.replaceAll(secret, '***')
  return out
    .replace(/(\/\/[^\s/:@]*:)[^\s/]*@/g, '$1***@')
    .replace(/\b((?:ssl)?password|passwd|pwd|secret|token)(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s&,;]+)/gi, '$1$2***')
}
