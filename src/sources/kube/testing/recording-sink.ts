import type { KindSink } from '../../kind-sink.ts'
import { asObject, asString } from '../unchecked-json.ts'

export interface RecordedItem {
  readonly name: string
  readonly version: string
  readonly value: string
}

/** Keeps what a catalog would keep, and the calls that led to it. */
export class RecordingSink implements KindSink<RecordedItem> {
  /** `replace a@1 b@2`, `upsert c@3`, `remove a@4`, in order. */
  readonly diary: string[] = []
  /** What came of lists, complete or not. */
  readonly foreseen: string[] = []
  readonly itemsByName = new Map<string, RecordedItem>()
  readonly #onChange: (sink: RecordingSink) => void

  constructor(onChange: (sink: RecordingSink) => void = () => {}) {
    this.#onChange = onChange
  }

  read(object: unknown): RecordedItem {
    const { metadata, value } = asObject(object)
    const { name, resourceVersion } = asObject(metadata)
    return { name: asString(name) ?? '?', version: asString(resourceVersion) ?? '?', value: asString(value) ?? '' }
  }

  foresee({ name, version }: RecordedItem): void {
    this.foreseen.push(`${name}@${version}`)
  }

  replace(items: readonly RecordedItem[]): void {
    this.itemsByName.clear()
    for (const item of items) this.itemsByName.set(item.name, item)
    this.#note('replace', items)
  }

  upsert(item: RecordedItem): void {
    this.itemsByName.set(item.name, item)
    this.#note('upsert', [item])
  }

  remove(item: RecordedItem): void {
    this.itemsByName.delete(item.name)
    this.#note('remove', [item])
  }

  forbidden(): void {
    this.#note('forbidden', [])
  }

  /** `a@1 b@2`, sorted. */
  get content(): string {
    return [...this.itemsByName.values()].map(show).sort().join(' ')
  }

  #note(what: string, items: readonly RecordedItem[]): void {
    this.diary.push([what, ...items.map(show)].join(' '))
    this.#onChange(this)
  }
}

function show({ name, version }: RecordedItem): string {
  return `${name}@${version}`
}

export function thing(name: string, version: number, value = ''): unknown {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, resourceVersion: String(version) }, value }
}

export function bookmark(version: number, endsInitialEvents = false): unknown {
  const annotations = endsInitialEvents ? { 'k8s.io/initial-events-end': 'true' } : {}
  return { kind: 'Thing', metadata: { resourceVersion: String(version), annotations } }
}

export function thingList(version: number, items: readonly unknown[], more?: string): unknown {
  return { kind: 'ThingList', metadata: { resourceVersion: String(version), continue: more }, items }
}
