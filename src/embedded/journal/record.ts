/** What a frame of the journal holds: the changes of one batch, each with its revision. */
import type { ApiObject } from '../resource.ts'
import type { RecoveredChange } from '../store/change-log.ts'
import { entryOf, storedEntry } from '../store/entry.ts'
import type { Entry } from '../store/entry.ts'
import type { KindChange } from '../store/transaction.ts'

export function renderRecords(changes: readonly KindChange[]): string {
  return `[${changes.map(renderRecord).join(',')}]`
}

export function renderPut(kind: string, entry: Entry): string {
  return `{"revision":${entry.revision},"kind":${JSON.stringify(kind)},"put":${entry.json}}`
}

export function parseRecords(json: string): RecoveredChange[] {
  return (JSON.parse(json) as RawRecord[]).map(parseRecord)
}

function renderRecord({ kind, change }: KindChange): string {
  if (change.type !== 'DELETED') return renderPut(kind, change.entry)
  return JSON.stringify({ revision: change.entry.revision, kind, delete: change.entry.key } satisfies RawRecord)
}

type RawRecord = { readonly revision: number; readonly kind: string } & (
  { readonly put: ApiObject; readonly delete?: never } | { readonly put?: never; readonly delete: string }
)

function parseRecord(raw: RawRecord): RecoveredChange {
  const { revision, kind } = raw
  if (raw.put !== undefined) {
    const entry = storedEntry(raw.put, revision, JSON.stringify(raw.put))
    return {
      revision,
      kind,
      key: entry.key,
      changeOf: (before) =>
        before === undefined ? { type: 'ADDED', entry, before } : { type: 'MODIFIED', entry, before },
    }
  }
  const key = raw.delete
  return {
    revision,
    kind,
    key,
    changeOf(before) {
      if (before === undefined)
        throw new TypeError(`the journal deletes ${kind} "${key}" at revision ${revision}, but there is no such object`)
      return { type: 'DELETED', entry: entryOf(before.object, revision), before }
    },
  }
}
