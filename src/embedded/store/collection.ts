/** The objects of one kind: by key and by namespace, in order, with their history and their listeners. */
import { afterChange } from './entry.ts'
import type { Change, Entry } from './entry.ts'
import { History } from './history.ts'

export class Collection {
  readonly history: History
  readonly #all = new OrderedEntries()
  readonly #byNamespace = new Map<string, OrderedEntries>()
  readonly #listeners = new Set<() => void>()

  constructor(historySize: number, revision: number) {
    this.history = new History(historySize, revision)
  }

  get size(): number {
    return this.#all.size
  }

  get(key: string): Entry | undefined {
    return this.#all.get(key)
  }

  /** Ordered by key; all namespaces by default. */
  list(namespace?: string): readonly Entry[] {
    if (namespace === undefined) return this.#all.inOrder()
    return this.#byNamespace.get(namespace)?.inOrder() ?? []
  }

  /** The list at an earlier revision, unless that is forgotten. */
  listAt(revision: number, namespace?: string): readonly Entry[] | undefined {
    const start = this.history.seek(revision)
    if (start === undefined) return undefined
    const changedKeys = new Map<string, Entry | undefined>()
    for (let position = this.history.end - 1; position >= start; position--) {
      const change = this.history.at(position)
      if (change !== undefined && (namespace === undefined || change.entry.namespace === namespace))
        changedKeys.set(change.entry.key, change.before)
    }
    if (changedKeys.size === 0) return this.list(namespace)
    const unchanged = this.list(namespace).filter((entry) => !changedKeys.has(entry.key))
    const restored = [...changedKeys.values()].filter((entry) => entry !== undefined)
    return [...unchanged, ...restored].sort(byKey)
  }

  /** Applies a committed change; `notify` calls the listeners, once per commit. */
  apply(change: Change): void {
    this.place(change.entry.key, change.entry.namespace, afterChange(change))
    this.history.push(change)
  }

  /** Sets the value of a key without an event, for loading a snapshot. */
  place(key: string, namespace: string, entry: Entry | undefined): void {
    this.#all.set(key, entry)
    if (namespace === '') return
    let entries = this.#byNamespace.get(namespace)
    if (entries === undefined) this.#byNamespace.set(namespace, (entries = new OrderedEntries()))
    entries.set(key, entry)
    if (entries.size === 0) this.#byNamespace.delete(namespace)
  }

  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Calls the listener after each commit that changed the kind, until the returned function is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

/** A map that keeps its sorted keys until one is added or removed. */
class OrderedEntries {
  readonly #byKey = new Map<string, Entry>()
  #keysInOrder: readonly string[] | undefined

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key)
  }

  set(key: string, entry: Entry | undefined): void {
    if (this.#byKey.has(key) !== (entry !== undefined)) this.#keysInOrder = undefined
    if (entry === undefined) this.#byKey.delete(key)
    else this.#byKey.set(key, entry)
  }

  inOrder(): readonly Entry[] {
    this.#keysInOrder ??= [...this.#byKey.keys()].sort()
    return this.#keysInOrder.map((key) => this.#byKey.get(key)).filter((entry) => entry !== undefined)
  }
}

function byKey(a: Entry, b: Entry): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
