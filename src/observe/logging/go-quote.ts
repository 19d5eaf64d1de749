/**
 * The text as a Go string literal, as klog prints strings: log tools for Kubernetes parse exactly this. A newline
 * becomes `\n`, so one record stays one line.
 */
export function goQuote(text: string): string {
  return nothingToEscape.test(text) ? `"${text}"` : `"${text.replace(mustEscape, escapeCharacter)}"`
}

const nothingToEscape = /^[ !#-[\]-~]*$/

/** Go prints letters, marks, numbers, punctuation, symbols and the plain space; the rest is escaped. */
const mustEscape = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

function escapeCharacter(character: string): string {
  const short = shortEscapes[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0) ?? 0
  const hex = (digits: number) => code.toString(16).padStart(digits, '0')
  if (code < 0x80) return `\\x${hex(2)}`
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`
}
