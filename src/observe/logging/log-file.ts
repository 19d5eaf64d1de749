/**
 * A log in a file of bounded size, for a process that has nobody to read its stderr (a Windows service). When the file is
 * full it becomes `NAME.1`, what was `NAME.1` becomes `NAME.2`, and the oldest goes.
 */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'

export interface LogFileOptions {
  readonly path: string
  /** A file that would grow beyond this size is put aside. */
  readonly maxBytes: number
}

/** Besides the one that is written. */
const keptFiles = 3

/**
 * Creates the file and its folder, and throws if it cannot be written. Afterwards nothing throws, because a log must not
 * stop the proxy. Each line is written at once: what led to a crash must be in the file.
 */
export function openLogFile(options: LogFileOptions): Writable {
  const file = new BoundedFile(options)
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      file.append(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
      done()
    },
    destroy(_error, done) {
      file.close()
      done(null)
    },
  })
}

class BoundedFile {
  readonly #path: string
  readonly #maxBytes: number
  #file: number | undefined
  #size = 0
  /** After a file could not be put aside (somebody has it open), the next try comes one file size later. */
  #fullAt: number
  #lostLines = 0

  constructor({ path, maxBytes }: LogFileOptions) {
    this.#path = path
    this.#maxBytes = maxBytes
    this.#fullAt = maxBytes
    mkdirSync(dirname(path), { recursive: true })
    this.#open()
  }

  append(line: Buffer): void {
    try {
      if (this.#size > 0 && this.#size + line.length > this.#fullAt) this.#rotate()
      const file = this.#file ?? this.#open()
      if (this.#lostLines > 0)
        this.#write(file, Buffer.from(`(${this.#lostLines} lines before this one could not be written)\n`))
      this.#lostLines = 0
      this.#write(file, line)
    } catch {
      // The disk is full, or the folder is gone. There is nowhere to report it but here, once that is possible again.
      this.#lostLines++
      this.close()
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #open(): number {
    this.#file = openSync(this.#path, 'a', 0o640)
    this.#size = fstatSync(this.#file).size
    return this.#file
  }

  #write(file: number, bytes: Buffer): void {
    let written = 0
    while (written < bytes.length) written += writeSync(file, bytes, written)
    this.#size += bytes.length
  }

  /** Windows may refuse to rename a file that is open, so ours is closed first. */
  #rotate(): void {
    this.close()
    try {
      rmSync(`${this.#path}.${keptFiles}`, { force: true })
      for (let age = keptFiles - 1; age >= 1; age--) moveIfThere(`${this.#path}.${age}`, `${this.#path}.${age + 1}`)
      renameSync(this.#path, `${this.#path}.1`)
      this.#fullAt = this.#maxBytes
    } catch {
      this.#fullAt += this.#maxBytes
    }
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
