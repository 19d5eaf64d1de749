/** Small objects for tests of the store and its journal, for which their content does not matter. */
import { silentLogger } from '../../core/logger.ts'
import type { ApiObject } from '../resource.ts'
import { Store } from '../store/store.ts'
import type { StoreOptions } from '../store/store.ts'
import type { Entry } from '../store/entry.ts'

export function thing(name: string, value: unknown = name): ApiObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, namespace: 'test' }, value }
}

export function memoryStore(options: Partial<StoreOptions> = {}): Store {
  return new Store({ historySize: 100, observer: () => {}, kinds: ['things'], log: silentLogger, ...options })
}

export function putThing(store: Store, name: string, value?: unknown): Promise<Entry> {
  return store.write((transaction) => transaction.put('things', thing(name, value)))
}

export function removeThing(store: Store, name: string): Promise<Entry> {
  return store.write((transaction) => {
    const entry = transaction.get('things', 'test', name)
    if (entry === undefined) throw new Error(`no thing ${name}`)
    return transaction.remove('things', entry)
  })
}

/** `name=value` of each thing, in order. */
export function thingsIn(entries: readonly Entry[] | undefined): string[] | undefined {
  return entries?.map(({ name, object }) => `${name}=${String(object['value'])}`)
}
