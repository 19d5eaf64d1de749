/**
 * Which labels and annotations are sent. Glob patterns have no separator, so `*` also matches `/` and `.`. Patterns:
 * `*`, `**`, `?`, `[abc]`, `[!a-c]`, `{x,y}`.
 */
import { compareBytes } from '../wire/byte-order.ts'

export type LabelFilter = (labels: Readonly<Record<string, unknown>>) => Record<string, string>

/** Throws for a pattern that `globProblem` complains about. */
export function labelFilter(globs: readonly string[]): LabelFilter {
  if (globs.length === 0) return () => ({})
  const patterns = globs.map(globToRegExp)
  return (labels) => {
    const kept = Object.entries(labels).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && patterns.some((pattern) => pattern.test(entry[0])),
    )
    // The hash depends on the order.
    return Object.fromEntries(kept.sort(([left], [right]) => compareBytes(left, right)))
  }
}

/** What is wrong with the first bad pattern. Checked at start, not when the first object arrives. */
export function globProblem(globs: readonly string[]): string | undefined {
  for (const glob of globs) {
    try {
      globToRegExp(glob)
    } catch {
      return `"${glob}" is not a pattern: check that every [ and { is closed`
    }
  }
  return undefined
}

function globToRegExp(glob: string): RegExp {
  const parts = glob.match(/\*+|\?|\[!?[^\]]+\]|\{[^{}]*\}|[^*?[{]|./gs) ?? []
  const source = parts.map((part) => {
    if (part.startsWith('*')) return '.*'
    if (part === '?') return '.'
    if (part.startsWith('[') && part.length > 1) return `[${part.startsWith('[!') ? '^' : ''}${classOf(part)}]`
    if (part.startsWith('{') && part.length > 1) return `(?:${part.slice(1, -1).split(',').map(escape).join('|')})`
    if (part === '[' || part === '{') throw new SyntaxError(`"${part}" is not closed`)
    return escape(part)
  })
  return new RegExp(`^(?:${source.join('')})$`, 's')
}

function classOf(part: string): string {
  return part.slice(part.startsWith('[!') ? 2 : 1, -1).replaceAll(/[\\^\]]/g, String.raw`\$&`)
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)
}
