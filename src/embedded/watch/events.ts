/** Which event a change is for one watch with its selectors, and the line for it. */
import { isSelected } from '../verbs/list.ts'
import type { Kind, Presented } from '../verbs/kinds.ts'
import type { Selection } from '../http/query.ts'
import type { ApiObject } from '../resource.ts'
import { storedEntry } from '../store/entry.ts'
import type { Change } from '../store/entry.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

export interface WatchEvent {
  readonly type: EventType
  readonly presented: Presented
}

/** To a watch, an object that begins to match is added, and one that no longer matches is deleted. */
export function eventFor(
  change: Change,
  kind: Kind,
  namespace: string | undefined,
  selection: Selection,
): WatchEvent | undefined {
  if (namespace !== undefined && change.entry.namespace !== namespace) return undefined
  const presented = kind.present(change.entry)
  if (selection.labels === undefined && selection.fields === undefined) return { type: change.type, presented }
  const didMatch = change.before !== undefined && isSelected(kind.present(change.before), selection)
  const doesMatch = change.type !== 'DELETED' && isSelected(presented, selection)
  if (doesMatch) return { type: didMatch ? 'MODIFIED' : 'ADDED', presented }
  if (!didMatch) return undefined
  return { type: 'DELETED', presented: change.type === 'DELETED' ? presented : lastMatch(change, kind) }
}

/** Renders the line of an event once for all watches, which send it shortly after each other. */
export class EventLines {
  readonly #lines = new Map<string, { readonly presented: Presented; readonly line: Buffer }>()

  lineOf({ type, presented }: WatchEvent): Buffer {
    const key = `${type} ${presented.object.metadata.uid ?? presented.object.metadata.name}`
    const found = this.#lines.get(key)
    if (found?.presented === presented) return found.line
    const line = Buffer.from(renderLine(type, presented.json))
    this.#lines.delete(key)
    this.#lines.set(key, { presented, line })
    const [oldest] = this.#lines.keys()
    if (this.#lines.size > keptLines && oldest !== undefined) this.#lines.delete(oldest)
    return line
  }
}

const keptLines = 1024

export function renderLine(type: EventType, json: string): string {
  return `{"type":"${type}","object":${json}}\n`
}

/** The last state that matched, with the revision of the change that ended it. */
function lastMatch(change: Change, kind: Kind): Presented {
  const { before, entry } = change
  const object: ApiObject = before?.object ?? entry.object
  const stamped = { ...object, metadata: { ...object.metadata, resourceVersion: String(entry.revision) } }
  return kind.present(storedEntry(stamped, entry.revision, JSON.stringify(stamped)))
}
