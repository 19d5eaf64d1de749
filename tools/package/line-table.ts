/** Says for each line of the bundle which file and line of the sources it comes from. */
import { SourceMap } from 'node:module'
import type { SourceMapPayload } from 'node:module'

export interface LineTable {
  readonly files: readonly string[]
  /** For each line: the index of the file, and in the lower 16 bits the line in it. */
  readonly lines: Uint32Array
}

/** Line by line, so the bundle must keep statements on lines of their own. */
export function lineTable(code: string, sourceMap: string): LineTable {
  const map = new SourceMap(JSON.parse(sourceMap) as SourceMapPayload)
  const indexByFile = new Map<string, number>()
  const lines = code.split('\n').map((text, line) => {
    const entry = map.findEntry(line, /\S|$/.exec(text)?.index ?? 0)
    if (!('originalSource' in entry)) return 0
    const file = entry.originalSource.replace(/^(?:\.\.\/)+/, '')
    const index = indexByFile.get(file) ?? indexByFile.size
    indexByFile.set(file, index)
    return (index << 16) | Math.min(entry.originalLine + 1, 0xffff)
  })
  return { files: [...indexByFile.keys()], lines: Uint32Array.from(lines) }
}
