/**
 * The embedded server's disk: a snapshot and an append-only journal of what came after it. A batch is acknowledged when
 * it is synced, so a crash loses nothing that was acknowledged.
 */
import { JournalError } from './journal-error.ts'
import { encodeFrame } from './frame.ts'
import { renderRecords } from './record.ts'
import type { ChangeLog, KindEntry } from '../store/change-log.ts'
import type { KindChange } from '../store/transaction.ts'

/** The part of a file handle the journal needs; tests pass one that fails. */
export interface JournalFile {
  write(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>
  datasync(): Promise<void>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

export class Journal implements ChangeLog, AsyncDisposable {
  readonly #parts: JournalParts
  #bytes: number
  #snapshotBytes: number
  #compactAbove: number
  #broken: JournalError | undefined

  constructor(parts: JournalParts) {
    this.#parts = parts
    this.#bytes = parts.bytes
    this.#snapshotBytes = parts.snapshotBytes
    this.#compactAbove = Math.max(parts.compactAboveBytes, parts.snapshotBytes)
  }

  get needsCompaction(): boolean {
    return this.#bytes > this.#compactAbove
  }

  async append(changes: readonly KindChange[]): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken
    const frame = encodeFrame(renderRecords(changes))
    try {
      await writeAll(this.#parts.file, frame, this.#bytes)
    } catch (cause) {
      await this.#cutBack()
      throw writeError(cause)
    }
    try {
      await this.#parts.file.datasync()
    } catch (cause) {
      // After a failed sync the kernel may have dropped the pages and report the next sync as a success (Linux does),
      // so nothing written after this could be trusted.
      this.#broken = unusable('a sync of the journal failed', cause)
      throw this.#broken
    }
    this.#bytes += frame.length
  }

  async compact(revision: number, entries: Iterable<KindEntry>): Promise<void> {
    try {
      this.#snapshotBytes = await this.#parts.writeSnapshot(revision, [...entries])
      // After a crash before this line the journal holds changes that are also in the snapshot. The next start skips
      // them.
      await this.#parts.file.truncate(0)
      await this.#parts.file.datasync()
      this.#bytes = 0
    } finally {
      // After a failure, try again when it has grown by the same amount.
      this.#compactAbove = this.#bytes + Math.max(this.#parts.compactAboveBytes, this.#snapshotBytes)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.file.close()
    await this.#parts.lock[Symbol.asyncDispose]()
  }

  /** Half a frame must not stay in front of the next one. */
  async #cutBack(): Promise<void> {
    try {
      await this.#parts.file.truncate(this.#bytes)
    } catch (cause) {
      this.#broken = unusable('an incomplete record could not be removed', cause)
    }
  }
}

export interface JournalParts {
  readonly file: JournalFile
  readonly bytes: number
  readonly lock: AsyncDisposable
  readonly snapshotBytes: number
  readonly compactAboveBytes: number
  readonly writeSnapshot: (revision: number, entries: readonly KindEntry[]) => Promise<number>
}

async function writeAll(file: JournalFile, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

function writeError(cause: unknown): JournalError {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new JournalError('disk-full', 'the write was refused: the disk of the data directory is full', { cause })
  return new JournalError('write-failed', `the write was refused: the journal cannot be written: ${message}`, { cause })
}

function unusable(what: string, cause: unknown): JournalError {
  const { message } = cause as Error
  return new JournalError(
    'unusable',
    `the write was refused: ${what} (${message}); restart the server once the disk works`,
    { cause },
  )
}
