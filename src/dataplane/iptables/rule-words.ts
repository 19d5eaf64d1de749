/** Words of rules as iptables-restore reads them and as iptables-save prints them. */

/** Splits at spaces. Double quotes hold a word together; a backslash inside them takes the next character as it is. */
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

/** Quotes a word if the tools would: everything but letters, digits, `_` and `-` needs it. */
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
