/** The record of what is ours as text: a line for each object that was added or removed, with a checksum. */
import { crc32 } from 'node:zlib'

const header = 'fairlead-owned-objects/1\n'

export interface OwnedObjectLines {
  readonly objects: ReadonlySet<string>
  /** How many lines told it. */
  readonly lines: number
  /** A process or a machine ended while the last line was written, so it was never relied on. */
  readonly isTorn: boolean
}

export function renderRecord(objects: Iterable<string>): string {
  return header + renderLines('+', objects)
}

export function renderLines(sign: '+' | '-', objects: Iterable<string>): string {
  return Array.from(objects, (object) => `${withChecksum(`${sign}${object}`)}\n`).join('')
}

/** Returns what is wrong with a text that no crash can explain. */
export function parseRecord(text: string): OwnedObjectLines | { readonly problem: string } {
  if (header.startsWith(text)) return { objects: new Set(), lines: 0, isTorn: text !== header }
  if (!text.startsWith(header)) return { problem: 'it does not begin as such a record does' }
  const lines = text.slice(header.length).split('\n')
  const unfinished = lines.pop()
  const objects = new Set<string>()
  for (const [index, line] of lines.entries()) {
    const change = line.slice(9)
    const object = change.slice(1)
    if (line !== withChecksum(change) || !/^[+-]/.test(change)) return { problem: `line ${index + 2} is damaged` }
    if (change.startsWith('+')) objects.add(object)
    else objects.delete(object)
  }
  return { objects, lines: lines.length, isTorn: unfinished !== '' }
}

function withChecksum(change: string): string {
  return `${crc32(change).toString(16).padStart(8, '0')} ${change}`
}
