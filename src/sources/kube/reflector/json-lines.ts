import { KubeError } from '../kube-error.ts'

/** etcd refuses objects beyond 1.5 MB. A line longer than this is not from an API server. */
const longestLineBytes = 64 * 1024 * 1024

const newline = 0x0a

/**
 * Takes a stream apart into the values of its lines. Works on bytes, so a character that is split between two chunks stays
 * whole. What follows the last line break is half a line of a connection that ended early, and is dropped.
 */
export class JsonLines {
  readonly #doing: string
  /** Of the current line; joined once, so that a long line is not copied for each chunk. */
  #parts: Buffer[] = []
  #bytes = 0

  constructor(doing: string) {
    this.#doing = doing
  }

  /** Calls for the value of each line that the chunk completes. False: there was enough, and what follows is dropped. */
  push(chunk: Buffer, onValue: (value: unknown) => boolean): boolean {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = this.#lineEndingWith(chunk, start, end)
      start = end + 1
      if (line.trim() !== '' && !onValue(parseLine(line, this.#doing))) return false
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start))
    this.#bytes += chunk.length - start
    if (this.#bytes > longestLineBytes)
      throw new KubeError('protocol', `${this.#doing}: a line of more than ${this.#bytes} bytes`)
    return true
  }

  /** Most lines come in one piece, which nobody needs to copy. */
  #lineEndingWith(chunk: Buffer, start: number, end: number): string {
    if (this.#parts.length === 0) return chunk.toString('utf8', start, end)
    const line = Buffer.concat([...this.#parts, chunk.subarray(start, end)]).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    return line
  }
}

function parseLine(line: string, doing: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new KubeError('protocol', `${doing}: a line that is not JSON: ${line.slice(0, 100)}`, { cause: error })
  }
}
