/** Opens a data directory: reads its content and drops what a crash left half-written. */
import { open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Logger } from '../../core/logger.ts'
import { JournalError } from './journal-error.ts'
import { scanFrames } from './frame.ts'
import { lockDirectory } from './lock.ts'
import { parseRecords } from './record.ts'
import { readSnapshot, syncDirectory, writeSnapshot } from './snapshot.ts'
import { Journal } from './journal.ts'
import type { JournalFile } from './journal.ts'
import { makePrivate, makePrivateDirectory, privateMode } from './private-files.ts'
import type { Recovered, RecoveredChange } from '../store/change-log.ts'

export interface JournalOptions {
  readonly directory: string
  readonly log: Logger
  /** The journal is replaced by a new snapshot when it is larger than this and than the last snapshot. */
  readonly compactAboveBytes: number
}

export async function openJournal(options: JournalOptions): Promise<{ journal: Journal; recovered: Recovered }> {
  await makePrivateDirectory(options.directory, options.log)
  const lock = await lockDirectory(options.directory)
  let file: JournalFile | undefined
  try {
    file = await openFile(join(options.directory, 'journal.jsonl'))
    return await recover(options, file, lock)
  } catch (error) {
    await file?.close()
    await lock[Symbol.asyncDispose]()
    throw error
  }
}

async function openFile(path: string): Promise<JournalFile> {
  // "r+" does not create the file and "a+" ignores positions, so one creates it and the other writes.
  await using made = await open(path, 'a', privateMode)
  await makePrivate(made)
  await syncDirectory(dirname(path))
  return open(path, 'r+')
}

async function recover(
  { directory, log, compactAboveBytes }: JournalOptions,
  file: JournalFile,
  lock: AsyncDisposable,
): Promise<{ journal: Journal; recovered: Recovered }> {
  const snapshotPath = join(directory, 'snapshot.jsonl')
  const snapshot = await readSnapshot(snapshotPath)
  const { changes, bytes } = await readChanges(join(directory, 'journal.jsonl'), file, snapshot?.revision, log)
  const journal = new Journal({
    file,
    bytes,
    lock,
    snapshotBytes: snapshot?.bytes ?? 0,
    compactAboveBytes,
    writeSnapshot: (revision, entries) => writeSnapshot(snapshotPath, revision, entries),
  })
  return {
    journal,
    recovered: { snapshotRevision: snapshot?.revision ?? 1, entries: snapshot?.entries ?? [], changes },
  }
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

function corrupt(path: string, offset: number | undefined, why: string): JournalError {
  const where = offset === undefined ? '' : ` at byte ${offset}`
  return new JournalError(
    'corrupt',
    `journal ${path} is damaged${where}: ${why}; restore the directory from a copy, or move it away to start empty`,
  )
}
