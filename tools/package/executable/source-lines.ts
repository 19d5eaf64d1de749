/** From lines of the bundle back to the sources, for log lines, --vmodule and stack traces. */
import { getAsset, getRawAsset } from 'node:sea'

interface Place {
  readonly file: string
  readonly line: number
}

/** The name that Node.js gives the program in the executable; it is that of the file which was put in. */
const bundleName = 'main.cjs'

let files: readonly string[] | undefined
let lines: Uint32Array | undefined

export function sourceOf(place: Place): Place {
  if (!place.file.endsWith(bundleName)) return place
  files ??= JSON.parse(getAsset('source-files.json', 'utf8')) as readonly string[]
  lines ??= new Uint32Array(getRawAsset('source-lines') as ArrayBuffer)
  const found = lines[place.line - 1]
  const file = found === undefined ? undefined : files[found >>> 16]
  return found === undefined || file === undefined ? place : { file, line: found & 0xffff }
}

/** Stack traces name the sources. */
export function translateStacks(): void {
  Error.prepareStackTrace = (error, frames) => {
    const at = frames.map((frame) =>
      // oxlint-disable-next-line typescript/no-base-to-string -- V8's frames have a text, though their type does not say so
      frame.toString().replace(/main\.cjs:(\d+):\d+/, (whole, line: string) => {
        const { file, line: original } = sourceOf({ file: bundleName, line: Number(line) })
        return file === bundleName ? whole : `${file}:${original}`
      }),
    )
    return [String(error), ...at.map((frame) => `    at ${frame}`)].join('\n')
  }
}
