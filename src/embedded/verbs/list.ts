/** Lists: which objects, at which revision, and where a page ends. */
import type { ListQuery, Selection } from '../http/query.ts'
import type { Kind, Presented } from './kinds.ts'
import { expired, tooLargeResourceVersion, badRequest } from '../status.ts'
import type { Store } from '../store/store.ts'
import type { Entry } from '../store/entry.ts'

export interface Page {
  readonly items: readonly Presented[]
  readonly metadata: ListMetadata
}

interface ListMetadata {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export function listObjects(store: Store, kind: Kind, namespace: string | undefined, query: ListQuery): Page {
  const { entries, revision, after } = snapshotFor(store, kind, namespace, query)
  const start = after === undefined ? 0 : firstAfter(entries, after)
  const items: Presented[] = []
  let last: Entry | undefined
  for (let index = start; index < entries.length; index++) {
    const entry = entries[index]
    if (entry === undefined) break
    if (query.limit > 0 && items.length === query.limit)
      return { items, metadata: pageMetadata(revision, last ?? entry, entries.length - index, query.selection) }
    const presented = kind.present(entry)
    last = entry
    if (isSelected(presented, query.selection)) items.push(presented)
  }
  return { items, metadata: { resourceVersion: String(revision) } }
}

export function isSelected({ object }: Presented, { labels, fields }: Selection): boolean {
  return (labels?.(object.metadata.labels ?? {}) ?? true) && (fields?.matches(object) ?? true)
}

interface ListSnapshot {
  readonly entries: readonly Entry[]
  readonly revision: number
  readonly after: string | undefined
}

function snapshotFor(store: Store, kind: Kind, namespace: string | undefined, query: ListQuery): ListSnapshot {
  if (query.continueToken !== undefined)
    return continuedSnapshot(store, kind, namespace, parseContinueToken(query.continueToken))
  const { revision = 0, match, limit } = query
  if (revision > store.revision) throw tooLargeResourceVersion(revision, store.revision)
  // With a limit, a resourceVersion alone has always meant exactly that one.
  const isExact = match === 'Exact' || (match === undefined && limit > 0 && revision > 0)
  if (!isExact)
    return { entries: currentEntries(store, kind, namespace, query), revision: store.revision, after: undefined }
  const entries = store.collection(kind.collection).listAt(revision, namespace)
  if (entries === undefined) throw expired('The resourceVersion for the provided list is too old.')
  return { entries, revision, after: undefined }
}

function continuedSnapshot(
  store: Store,
  kind: Kind,
  namespace: string | undefined,
  { revision, after }: ContinueToken,
): ListSnapshot {
  if (revision === 'latest') return { entries: store.list(kind.collection, namespace), revision: store.revision, after }
  const entries = store.collection(kind.collection).listAt(revision, namespace)
  if (entries !== undefined) return { entries, revision, after }
  throw expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list ' +
      'without the continue parameter, or use the continue token in this response to retrieve the remainder of the ' +
      'results. Continuing with the provided token results in an inconsistent list - objects that were created, ' +
      'modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    renderContinueToken({ revision: 'latest', after }),
  )
}

/** A list that can only match one object does not walk the others: every node watches only itself. */
function currentEntries(
  store: Store,
  kind: Kind,
  namespace: string | undefined,
  { selection }: ListQuery,
): readonly Entry[] {
  const name = selection.fields?.name
  const isSingle = name !== undefined && (!kind.type.isNamespaced || namespace !== undefined)
  if (!isSingle) return store.list(kind.collection, namespace)
  const entry = store.get(kind.collection, namespace === undefined ? name : `${namespace}/${name}`)
  return entry === undefined ? [] : [entry]
}

function pageMetadata(revision: number, last: Entry, remaining: number, selection: Selection): ListMetadata {
  const isCounted = selection.labels === undefined && selection.fields === undefined
  return {
    resourceVersion: String(revision),
    continue: renderContinueToken({ revision, after: last.key }),
    // How many of the rest match a selector is not known without checking each.
    ...(isCounted ? { remainingItemCount: remaining } : {}),
  }
}

/** The index of the first key after the given one. */
function firstAfter(entries: readonly Entry[], after: string): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((entries[middle]?.key ?? '') <= after) low = middle + 1
    else high = middle
  }
  return low
}

/** Where a paged list continues. Opaque to clients. */
interface ContinueToken {
  /** `latest` once the snapshot is gone: the rest then comes from the current state. */
  readonly revision: number | 'latest'
  /** The last key that was returned. */
  readonly after: string
}

function renderContinueToken(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ revision: token.revision, after: token.after })).toString('base64url')
}

function parseContinueToken(text: string): ContinueToken {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (isContinueToken(parsed)) return parsed
  } catch {
    // Not JSON: gets the same answer as JSON of another shape.
  }
  throw badRequest('continue key is not valid: pass the value of metadata.continue unchanged')
}

function isContinueToken(value: unknown): value is ContinueToken {
  if (typeof value !== 'object' || value === null) return false
  const { revision, after } = value as Record<string, unknown>
  return (revision === 'latest' || Number.isSafeInteger(revision)) && typeof after === 'string'
}
