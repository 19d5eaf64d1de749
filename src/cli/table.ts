import { breakWords } from '../config/flags/break-words.ts'

/**
 * Columns of text, aligned as kubectl does it: padded to the widest cell, three spaces apart. Where the lines would be
 * wider than the terminal, the last column is broken between words, under itself.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
): string {
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const [last = 0, ...others] = widths.toReversed()
  const beforeLast = (gap: number) => others.reduce((sum, width) => sum + width + gap, 0)
  const isTooWide = beforeLast(wideGap) + last > columns
  const gap = isTooWide ? narrowGap : wideGap
  const left = beforeLast(gap)
  // Too little room even so: the last column goes below the others.
  const isBelow = isTooWide && columns - left < narrowestCell
  const indent = isBelow ? belowIndent : left
  return all
    .map((row) => {
      const cells = row.slice(0, -1).map((cell, column) => cell.padEnd((widths[column] ?? 0) + gap))
      const lines = breakWords(row.at(-1) ?? '', columns - indent)
      const start = cells.join('')
      const text = lines.join(`\n${' '.repeat(indent)}`)
      return isBelow ? `${start.trimEnd()}\n${' '.repeat(indent)}${text}\n` : `${(start + text).trimEnd()}\n`
    })
    .join('')
}

const wideGap = 3
const narrowGap = 2
/** Holds an IPv4 address with a port, and the comma behind it. */
const narrowestCell = 16
const belowIndent = 4
