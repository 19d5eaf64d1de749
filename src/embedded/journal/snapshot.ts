/** The whole state in one file. It is written under another name and renamed, so there is always a complete one. */
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { JournalError } from './journal-error.ts'
import { encodeFrame, scanFrames } from './frame.ts'
import { parseRecords, renderPut } from './record.ts'
import { makePrivate, privateMode } from './private-files.ts'
import type { KindEntry } from '../store/change-log.ts'

export interface Snapshot {
  readonly revision: number
  readonly entries: readonly KindEntry[]
  readonly bytes: number
}

const entriesPerFrame = 256

export async function readSnapshot(path: string): Promise<Snapshot | undefined> {
  const bytes = await contentOf(path)
  if (bytes === undefined) return undefined
  const { payloads, goodBytes, broken } = scanFrames(bytes)
  const [first, ...rest] = payloads
  const head = first === undefined ? undefined : (JSON.parse(first) as SnapshotHead)
  const entries = rest.flatMap(parseRecords).map((put) => ({ kind: put.kind, entry: put.changeOf(undefined).entry }))
  if (broken !== undefined || head === undefined || head.entries !== entries.length) {
    throw new JournalError(
      'corrupt',
      `snapshot ${path} is damaged at byte ${goodBytes}: ${broken?.why ?? 'entries are missing'}; ` +
        `restore the directory from a copy, or move it away to start empty`,
    )
  }
  return { revision: head.revision, entries, bytes: bytes.length }
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, 'r')
    await makePrivate(file)
    return await file.readFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Returns the size of the file. */
export async function writeSnapshot(path: string, revision: number, entries: readonly KindEntry[]): Promise<number> {
  const aside = `${path}.new`
  try {
    const bytes = await writeFrames(aside, framesOf(revision, entries))
    await rename(aside, path)
    await syncDirectory(dirname(path))
    return bytes
  } catch (error) {
    await rm(aside, { force: true }).catch(() => undefined)
    throw error
  }
}

/** A new name in a directory survives a power cut only if the directory is synced, too. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory as a file; its file system journals the rename itself.
  if (process.platform === 'win32') return
  await using handle = await open(path, 'r')
  await handle.sync()
}

interface SnapshotHead {
  readonly revision: number
  readonly entries: number
}

function* framesOf(revision: number, entries: readonly KindEntry[]): Iterable<Buffer> {
  yield encodeFrame(JSON.stringify({ revision, entries: entries.length } satisfies SnapshotHead))
  for (let start = 0; start < entries.length; start += entriesPerFrame) {
    const records = entries.slice(start, start + entriesPerFrame).map(({ kind, entry }) => renderPut(kind, entry))
    yield encodeFrame(`[${records.join(',')}]`)
  }
}

async function writeFrames(path: string, frames: Iterable<Buffer>): Promise<number> {
  await using handle = await open(path, 'w', privateMode)
  await makePrivate(handle)
  let bytes = 0
  for (const frame of frames) {
    await handle.appendFile(frame)
    bytes += frame.length
  }
  await handle.sync()
  return bytes
}
