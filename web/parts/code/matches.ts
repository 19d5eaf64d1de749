/** Where a word occurs in lines, and pieces of a line cut at where it does. Letters match in either case. */
import type { Token } from './tokenize.ts'

/** The numbers of the lines that have it, from 0. */
export function matchingLines(lines: readonly string[], query: string): readonly number[] {
  const wanted = query.toLowerCase()
  if (wanted === '') return []
  return lines.flatMap((line, index) => (line.toLowerCase().includes(wanted) ? [index] : []))
}

export interface MarkedToken extends Token {
  readonly isMatch: boolean
}

export function markMatches(tokens: readonly Token[], query: string): readonly MarkedToken[] {
  const wanted = query.toLowerCase()
  const line = tokens.map(({ text }) => text).join('')
  const lower = line.toLowerCase()
  // Some letters have another length in lower case; then places do not fit, and nothing is marked.
  if (wanted === '' || lower.length !== line.length) return tokens.map((token) => ({ ...token, isMatch: false }))
  const marked = new Uint8Array(line.length)
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length))
    marked.fill(1, at, at + wanted.length)
  const pieces: MarkedToken[] = []
  let start = 0
  for (const { kind, text } of tokens) {
    let from = 0
    for (let to = 1; to <= text.length; to++) {
      if (to < text.length && marked[start + to] === marked[start + from]) continue
      pieces.push({ kind, text: text.slice(from, to), isMatch: marked[start + from] === 1 })
      from = to
    }
    start += text.length
  }
  return pieces
}
