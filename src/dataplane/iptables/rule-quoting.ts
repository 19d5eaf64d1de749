/** Splits rules into words as iptables-restore does, and quotes words as iptables-save does. */

/** Splits at spaces, but not within double quotes, where a backslash escapes the next character. */
export function ruleWords(text: string): string[] {
  if (!text.includes('"')) return text.split(' ').filter((word) => word !== '')
  const words: string[] = []
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === space) at++
    else if (code === quote) {
      const end = endOfQuoted(text, at + 1)
      words.push(unescaped(text.slice(at + 1, end)))
      at = end + 1
    } else {
      const end = text.indexOf(' ', at)
      words.push(end < 0 ? text.slice(at) : text.slice(at, end))
      at = end < 0 ? text.length : end
    }
  }
  return words
}

/** The tools quote words with characters other than letters, digits, `_` and `-`. */
export function quoted(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `"${word.replace(/["\\']/g, '\\$&')}"`
}

const space = 32
const quote = 34

function endOfQuoted(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
  }
  return text.length
}

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\(.)/g, '$1') : text
}
