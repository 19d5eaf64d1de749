import { readFile } from 'node:fs/promises'
import type { Logger } from '../../../core/logger.ts'
import type { FindFile } from '../../../host/mounted-file.ts'
import { KubeError } from '../kube-error.ts'

/**
 * The text of a file that is replaced while we run: tokens, certificates, the kubeconfig. It is read again for each
 * request. Requests are rare (they are rate-limited), and reading is the only way that notices every change: a swapped
 * symlink, a re-mounted volume, a clock that jumped.
 */
export class FileText {
  readonly #file: string
  readonly #what: string
  readonly #findFile: FindFile
  readonly #log: Logger
  #last: string | undefined
  #isReported = false

  constructor(file: string, what: string, { findFile, log }: { readonly findFile: FindFile; readonly log: Logger }) {
    this.#file = file
    this.#what = what
    this.#findFile = findFile
    this.#log = log
  }

  /** Returns the last good content while the file is missing or empty, because it is being written. */
  async read(): Promise<string> {
    let problem: unknown = 'the file is empty'
    try {
      const text = decoded(await readFile(this.#findFile(this.#file)))
      if (text.trim() !== '') {
        this.#isReported = false
        return (this.#last = text)
      }
    } catch (error) {
      problem = error
    }
    const reason = problem instanceof Error ? problem.message : String(problem)
    if (this.#last === undefined)
      throw new KubeError('credentials', `cannot read the ${this.#what} from "${this.#file}": ${reason}`)
    if (!this.#isReported)
      this.#log.warn('file unreadable, its last content stays in use', {
        file: this.#file,
        holds: this.#what,
        problem: reason,
      })
    this.#isReported = true
    return this.#last
  }
}

/** UTF-8, or UTF-16 with the mark that PowerShell 5 puts at the beginning of whatever `>` writes. */
function decoded(bytes: Buffer): string {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? bytes.toString('utf16le', 2) : bytes.toString('utf8')
}
