/**
 * The last complete state on disk, so that a node that reboots while the API server is away can serve at once.
 * One JSON record a line between a header and a footer with a checksum; a file that does not add up is ignored.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { ObjectKind, ObjectRecord } from '../../api/records.ts'
import { objectKinds } from '../../api/records.ts'
import type { Catalog } from '../../core/catalog.ts'

const fileName = 'last-state.jsonl'
const format = 'fairlead-state/1'
/** Records written before others get a turn on the event loop. */
const chunkSize = 500

export type LoadedState =
  | { readonly kind: 'loaded'; readonly savedAtMs: number; readonly records: readonly ObjectRecord[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'unusable'; readonly reason: string }

/** Replaces the file in one step: a crash at any moment leaves the old state or the new one. */
export async function saveState(folder: string, catalog: Catalog, nowMs: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, fileName)
  const temporary = `${path}.new`
  const checksum = createHash('sha256')
  await using file = await open(temporary, 'w', 0o600)
  const write = async (text: string) => {
    checksum.update(text)
    await file.appendFile(text)
  }
  await write(`${JSON.stringify({ format, savedAtMs: nowMs })}\n`)
  let lines: string[] = []
  for (const record of recordsOf(catalog)) {
    lines.push(JSON.stringify(record))
    if (lines.length < chunkSize) continue
    await write(`${lines.join('\n')}\n`)
    lines = []
  }
  if (lines.length > 0) await write(`${lines.join('\n')}\n`)
  await file.appendFile(`${JSON.stringify({ sha256: checksum.digest('hex') })}\n`)
  await file.sync()
  await rename(temporary, path)
  await syncFolder(folder)
}

export async function loadState(folder: string): Promise<LoadedState> {
  const path = join(folder, fileName)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'none' }
    return { kind: 'unusable', reason: `${path} cannot be read: ${String(error)}` }
  }
  return parseState(text, path)
}

/** Hands the saved records to the Catalog as complete lists, as if a source had just listed them. */
export function restoreState(catalog: Catalog, records: readonly ObjectRecord[]): void {
  catalog.replace('Node', records.filter(isOfKind('Node')))
  catalog.replace('ServiceCIDR', records.filter(isOfKind('ServiceCIDR')))
  catalog.replace('EndpointSlice', records.filter(isOfKind('EndpointSlice')))
  catalog.replace('Service', records.filter(isOfKind('Service')))
}

function isOfKind<K extends ObjectKind>(kind: K) {
  return (record: ObjectRecord): record is Extract<ObjectRecord, { kind: K }> => record.kind === kind
}

function* recordsOf(catalog: Catalog): Generator<ObjectRecord> {
  yield* catalog.nodes.values()
  yield* catalog.serviceCidrs.values()
  yield* catalog.services.values()
  yield* catalog.slices.values()
}

function parseState(text: string, path: string): LoadedState {
  const unusable = (why: string): LoadedState => ({ kind: 'unusable', reason: `${path} ${why}` })
  const footerAt = text.lastIndexOf('\n', text.length - 2) + 1
  const body = text.slice(0, footerAt)
  const sha256 = createHash('sha256').update(body).digest('hex')
  if (text.slice(footerAt) !== `${JSON.stringify({ sha256 })}\n`) return unusable('is cut off or damaged')
  const [header = '', ...lines] = body.trimEnd().split('\n')
  const { format: found, savedAtMs } = JSON.parse(header) as { format?: unknown; savedAtMs?: unknown }
  if (found !== format || typeof savedAtMs !== 'number')
    return unusable(`was written by another version (${String(found)}, expected ${format})`)
  const records = lines.map((line) => JSON.parse(line) as ObjectRecord)
  const isKnown = records.every(({ kind }) => objectKinds.includes(kind))
  return isKnown ? { kind: 'loaded', savedAtMs, records } : unusable('holds objects of an unknown kind')
}

/** A rename is only safe from a power cut once the folder itself is on disk. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}
