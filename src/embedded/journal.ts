/**
 * The embedded server's disk: a snapshot and an append-only journal of what came after it. A batch is acknowledged
 * when it is synced, so a crash loses nothing that a client was told of.
 */
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../core/logger.ts'
import { JournalError } from './journal-error.ts'
import { encodeFrame, scanFrames } from './journal-frame.ts'
import { lockDirectory } from './journal-lock.ts'
import { parseRecords, renderRecords } from './journal-record.ts'
import { readSnapshot, syncDirectory, writeSnapshot } from './journal-snapshot.ts'
import type { ChangeLog, KindEntry, Recovered, RecoveredChange } from './store-change-log.ts'
import type { KindChange } from './store-transaction.ts'

export interface JournalOptions {
  readonly directory: string
  readonly log: Logger
  /** The journal is folded into a new snapshot when it is larger than this and than the last snapshot. */
  readonly compactAboveBytes: number
}

/** The part of a file handle the journal needs; tests pass one that fails. */
export interface JournalFile {
  write(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>
  datasync(): Promise<void>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/** Locks the directory, reads what it holds, and makes it ready for more. */
export async function openJournal(options: JournalOptions): Promise<{ journal: Journal; recovered: Recovered }> {
  const { directory } = options
  await mkdir(directory, { recursive: true })
  const lock = await lockDirectory(directory)
  try {
    const snapshotPath = join(directory, 'snapshot.jsonl')
    const journalPath = join(directory, 'journal.jsonl')
    const snapshot = await readSnapshot(snapshotPath)
    const file = await open(journalPath, 'a+').then(async (created) => {
      await created.close()
      return open(journalPath, 'r+')
    })
    await syncDirectory(directory)
    const { changes, bytes } = await readChanges(journalPath, file, snapshot?.revision, options.log)
    const journal = new Journal({
      file,
      bytes,
      lock,
      snapshotBytes: snapshot?.bytes ?? 0,
      compactAboveBytes: options.compactAboveBytes,
      writeSnapshot: (revision, entries) => writeSnapshot(snapshotPath, revision, entries),
    })
    return {
      journal,
      recovered: { snapshotRevision: snapshot?.revision ?? 1, entries: snapshot?.entries ?? [], changes },
    }
  } catch (error) {
    await lock[Symbol.asyncDispose]()
    throw error
  }
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
      // After a failed sync the kernel may have dropped the pages and call the next sync a success (it does on
      // Linux), so nothing written from here on could be trusted.
      this.#broken = unusable('a sync of the journal failed', cause)
      throw this.#broken
    }
    this.#bytes += frame.length
  }

  async compact(revision: number, entries: Iterable<KindEntry>): Promise<void> {
    try {
      this.#snapshotBytes = await this.#parts.writeSnapshot(revision, [...entries])
      // A crash before this line leaves changes that the snapshot holds already; the next start skips them.
      await this.#parts.file.truncate(0)
      await this.#parts.file.datasync()
      this.#bytes = 0
    } finally {
      // After a failure, try again when it has grown by as much once more.
      this.#compactAbove = this.#bytes + Math.max(this.#parts.compactAboveBytes, this.#snapshotBytes)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.file.close()
    await this.#parts.lock[Symbol.asyncDispose]()
  }

  /** A part of a frame must not stay in front of the next one. */
  async #cutBack(): Promise<void> {
    try {
      await this.#parts.file.truncate(this.#bytes)
    } catch (cause) {
      this.#broken = unusable('half a record could not be taken back', cause)
    }
  }
}

interface JournalParts {
  readonly file: JournalFile
  readonly bytes: number
  readonly lock: AsyncDisposable
  readonly snapshotBytes: number
  readonly compactAboveBytes: number
  readonly writeSnapshot: (revision: number, entries: readonly KindEntry[]) => Promise<number>
}

async function readChanges(
  path: string,
  file: JournalFile,
  snapshotRevision: number | undefined,
  log: Logger,
): Promise<{ changes: RecoveredChange[]; bytes: number }> {
  const content = await readFile(path)
  const { payloads, goodBytes, broken } = scanFrames(content)
  if (broken !== undefined && !broken.isLast) throw corrupt(path, goodBytes, broken.why)
  if (broken !== undefined) {
    log.warn('last journal record was cut short by a crash and is dropped; it was never acknowledged', {
      file: path,
      offset: goodBytes,
      bytes: content.length - goodBytes,
    })
    await file.truncate(goodBytes)
    await file.datasync()
  }
  const changes = payloads.flatMap(parseRecords).filter((change) => change.revision > (snapshotRevision ?? 0))
  let expected = (snapshotRevision ?? 1) + 1
  for (const { revision } of changes) {
    if (revision !== expected) throw corrupt(path, undefined, `revision ${expected} is missing before ${revision}`)
    expected++
  }
  return { changes, bytes: goodBytes }
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

function corrupt(path: string, offset: number | undefined, why: string): JournalError {
  const where = offset === undefined ? '' : ` at byte ${offset}`
  return new JournalError(
    'corrupt',
    `journal ${path} is damaged${where}: ${why}; restore the directory from a copy, or move it away to start empty`,
  )
}
