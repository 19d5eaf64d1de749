/**
 * The last complete state on disk, so that a node that reboots while the API server is away can serve at once. One JSON
 * record per line, between a header and a footer with a checksum; a file whose checksum is wrong is ignored. The
 * checksum finds damage, not attacks: the file must be ours alone, and its records are checked as strictly as those of
 * an API server.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isJsonObject } from '../../api/json-reader.ts'
import type { WeightedPod } from '../../api/parse-pod-weight.ts'
import type { ObjectKind, ObjectRecord } from '../../api/records.ts'
import { readStoredPod, readStoredRecord } from '../../api/stored-record.ts'
import type { ReadRecord } from '../../api/stored-record.ts'
import type { Catalog } from '../../core/catalog.ts'
import { shownValue } from '../../net/shown-value.ts'
import { ensurePrivateFolder, readPrivateFile, replaceFile } from '../private-file.ts'

const fileName = 'last-state.jsonl'
const format = 'fairlead-state/1'
/** After this many records, other work gets a turn on the event loop. */
const chunkSize = 500

export type LoadedState =
  | {
      readonly kind: 'loaded'
      readonly savedAtMs: number
      readonly records: readonly ObjectRecord[]
      readonly pods: readonly WeightedPod[]
      /** Lines that we cannot have written: where, what and why. */
      readonly dropped: readonly string[]
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'unusable'; readonly reason: string }

/** Replaces the file in one step: a crash at any moment leaves the old state or the new one. */
export async function saveState(
  folder: string,
  catalog: Catalog,
  nowMs: number,
  pods: Iterable<WeightedPod> = [],
): Promise<void> {
  await ensurePrivateFolder(folder)
  await replaceFile(join(folder, fileName), async (append) => {
    const checksum = createHash('sha256')
    const write = async (text: string) => {
      checksum.update(text)
      await append(text)
    }
    await write(`${JSON.stringify({ format, savedAtMs: nowMs })}\n`)
    let lines: string[] = []
    for (const record of recordsOf(catalog, pods)) {
      lines.push(JSON.stringify(record))
      if (lines.length < chunkSize) continue
      await write(`${lines.join('\n')}\n`)
      lines = []
    }
    if (lines.length > 0) await write(`${lines.join('\n')}\n`)
    await append(`${JSON.stringify({ sha256: checksum.digest('hex') })}\n`)
  })
}

export async function loadState(folder: string): Promise<LoadedState> {
  const path = join(folder, fileName)
  const found = await readPrivateFile(path)
  switch (found.kind) {
    case 'none':
      return found
    case 'refused':
      return { kind: 'unusable', reason: found.reason }
    case 'text':
      return parseState(found.text, path)
    default:
      return found satisfies never
  }
}

/** Delivers the saved records to the Catalog as complete lists, as if a source had just listed them. */
export function restoreState(catalog: Catalog, records: readonly ObjectRecord[]): void {
  catalog.replace('Node', records.filter(isOfKind('Node')))
  catalog.replace('ServiceCIDR', records.filter(isOfKind('ServiceCIDR')))
  catalog.replace('Namespace', records.filter(isOfKind('Namespace')))
  catalog.replace('EndpointSlice', records.filter(isOfKind('EndpointSlice')))
  catalog.replace('Service', records.filter(isOfKind('Service')))
}

function isOfKind<K extends ObjectKind>(kind: K) {
  return (record: ObjectRecord): record is Extract<ObjectRecord, { kind: K }> => record.kind === kind
}

function* recordsOf(catalog: Catalog, pods: Iterable<WeightedPod>): Generator<object> {
  for (const { key, namespace, ips, weight } of pods)
    yield { kind: 'Pod', namespace, name: key.slice(namespace.length + 1), ips, weight }
  yield* catalog.nodes.values()
  yield* catalog.serviceCidrs.values()
  yield* catalog.namespaces.values()
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
  const head = parseJson(header)
  const { format: found, savedAtMs } = isJsonObject(head) ? head : {}
  if (found !== format || !isTime(savedAtMs))
    return unusable(`was written by another version (${shownValue(found)}, expected ${format})`)
  const records: ObjectRecord[] = []
  const pods: WeightedPod[] = []
  const dropped: string[] = []
  for (const [index, line] of lines.entries()) {
    const stored = parseJson(line)
    const isPod = isJsonObject(stored) && stored['kind'] === 'Pod'
    const read = isPod ? keptIn(pods, readStoredPod(stored)) : keptIn(records, readStoredRecord(stored))
    if (!read.ok) dropped.push(`${path}:${index + 2}: ${identityOf(stored)}: ${read.reason}`)
  }
  return { kind: 'loaded', savedAtMs, records, pods, dropped }
}

function keptIn<T>(list: T[], read: ReadRecord<T>): ReadRecord<T> {
  if (read.ok) list.push(read.record)
  return read
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function identityOf(stored: unknown): string {
  if (!isJsonObject(stored)) return shownValue(stored)
  const { kind, namespace, name } = stored
  return [kind, namespace, name]
    .filter((part) => part !== undefined)
    .map(shownValue)
    .join(' ')
}
