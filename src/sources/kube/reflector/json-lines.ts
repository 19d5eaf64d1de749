import { KubeError } from '../kube-error.ts'

/** etcd refuses objects beyond 1.5 MB. A line longer than this is not from an API server. */
const longestLineBytes = 64 * 1024 * 1024

const newline = 0x0a

/**
 * Yields the value of each complete line. Works on bytes, so a character that is split between two chunks stays whole.
 * What follows the last line break is half a line of a connection that ended early, and is dropped.
 */
export async function* jsonLines(chunks: AsyncIterable<Buffer>, doing: string): AsyncGenerator {
  let parts: Buffer[] = [] // of the current line; joined once, so that a long line is not copied for each chunk
  let bytes = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end))
      start = end + 1
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      bytes = 0
      if (line.trim() !== '') yield parseLine(line, doing)
    }
    if (start < chunk.length) parts.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > longestLineBytes) throw new KubeError('protocol', `${doing}: a line of more than ${bytes} bytes`)
  }
}

function parseLine(line: string, doing: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new KubeError('protocol', `${doing}: a line that is not JSON: ${line.slice(0, 100)}`, { cause: error })
  }
}
