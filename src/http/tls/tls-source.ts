/**
 * TLS files that are replaced while the process runs, when certificates are renewed. While key and certificate do not
 * match (they are rarely replaced in one step), the old ones stay in use.
 */
import type { Logger } from '../../core/logger.ts'
import { readTlsFiles } from './tls-files.ts'
import type { TlsFiles, TlsMaterial } from './tls-files.ts'

export class TlsSource {
  readonly #files: TlsFiles
  readonly #log: Logger
  #current: TlsMaterial
  #lastProblem = ''

  /** Returns undefined, which means plaintext, if no file is named at all. Throws if a file cannot be used. */
  static open(files: TlsFiles, log: Logger): TlsSource | undefined {
    const material = readTlsFiles(files)
    return material && new TlsSource(files, material, log)
  }

  private constructor(files: TlsFiles, current: TlsMaterial, log: Logger) {
    this.#files = files
    this.#current = current
    this.#log = log
  }

  get current(): TlsMaterial {
    return this.#current
  }

  /** Reads the files again. Returns whether there is something new to use. */
  refresh(): boolean {
    let found: TlsMaterial | undefined
    try {
      found = readTlsFiles(this.#files)
      this.#lastProblem = ''
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      if (problem !== this.#lastProblem)
        this.#log.warn('the new TLS files cannot be used; the previous ones stay in use', { problem })
      this.#lastProblem = problem
    }
    if (found === undefined || isSame(found, this.#current)) return false
    this.#current = found
    this.#log.info('the TLS files were replaced; new connections use them', { certificate: this.#files.certificate })
    return true
  }
}

function isSame(left: TlsMaterial, right: TlsMaterial): boolean {
  return left.key.equals(right.key) && left.cert.equals(right.cert) && isSameCa(left.ca, right.ca)
}

function isSameCa(left: Buffer | undefined, right: Buffer | undefined): boolean {
  return left === undefined || right === undefined ? left === right : left.equals(right)
}
