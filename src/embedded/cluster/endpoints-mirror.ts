/**
 * Keeps EndpointSlices for Endpoints that people write, as the mirroring controller of a cluster does. It looks only at
 * what has changed since it last looked.
 */
import {
  keyOfSlice,
  managedByLabel,
  mirrorEndpoints,
  mirroringController,
  serviceNameLabel,
  whyNotMirrored,
} from '../../api/mirroring/mirror-endpoints.ts'
import type { Logger } from '../../core/logger.ts'
import { createObject } from '../verbs/create.ts'
import { deleteObject } from '../verbs/delete.ts'
import type { Kind, Kinds } from '../verbs/kinds.ts'
import { updateObject } from '../verbs/update.ts'
import type { WriteContext } from '../verbs/write.ts'
import type { ApiObject } from '../resource.ts'
import type { Entry } from '../store/entry.ts'
import type { Position } from '../store/history.ts'
import type { Transaction } from '../store/transaction.ts'
import type { Store } from '../store/store.ts'

export interface EndpointsMirrorOptions {
  readonly store: Store
  readonly kinds: Kinds
  readonly context: WriteContext
  readonly log: Logger
}

/** Nothing is mirrored if one of the kinds is not served. */
export function mirrorStoredEndpoints(options: EndpointsMirrorOptions): AsyncDisposable {
  const kindOf = (plural: string) => options.kinds.all.find(({ type }) => type.plural === plural)
  const [services, endpoints, slices] = [kindOf('services'), kindOf('endpoints'), kindOf('endpointslices')]
  if (services === undefined || endpoints === undefined || slices === undefined)
    return { async [Symbol.asyncDispose]() {} }
  return new EndpointsMirror(options, { services, endpoints, slices })
}

interface MirrorKinds {
  readonly services: Kind
  readonly endpoints: Kind
  readonly slices: Kind
}

class EndpointsMirror implements AsyncDisposable {
  readonly #options: EndpointsMirrorOptions
  readonly #kinds: MirrorKinds
  readonly #positions = new Map<string, Position>()
  readonly #unlisten: readonly (() => void)[]
  #working: Promise<void> | undefined
  #isAwake = false
  #isStopped = false

  constructor(options: EndpointsMirrorOptions, kinds: MirrorKinds) {
    this.#options = options
    this.#kinds = kinds
    const collections = Object.values(kinds as unknown as Readonly<Record<string, Kind>>).map(
      ({ collection }) => collection,
    )
    this.#unlisten = collections.map((name) => options.store.collection(name).listen(() => this.#wake()))
    this.#wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    for (const unlisten of this.#unlisten) unlisten()
    await this.#working
  }

  #wake(): void {
    this.#isAwake = true
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    await Promise.resolve() // a commit notifies each kind in turn; look after the last
    while (this.#isAwake && !this.#isStopped) {
      this.#isAwake = false
      for (const key of this.#changedKeys()) await this.#reconcile(key)
    }
    this.#working = undefined
  }

  /** Keys of Endpoints whose slices may be out of date. */
  #changedKeys(): ReadonlySet<string> {
    const { services, endpoints, slices } = this.#kinds
    const keys = new Set<string>()
    for (const { key } of this.#changesOf(endpoints)) keys.add(key)
    // Few Services have Endpoints of their own. Deleted Endpoints are found above.
    for (const { key } of this.#changesOf(services))
      if (this.#options.store.get(endpoints.collection, key) !== undefined) keys.add(key)
    for (const entry of this.#changesOf(slices)) {
      const service = mirroredFor(entry.object)
      if (service !== undefined) keys.add(`${entry.namespace}/${service}`)
    }
    return keys
  }

  /** Returns everything the first time, and when changes were forgotten before they were seen. */
  #changesOf({ collection: name }: Kind): readonly Entry[] {
    const collection = this.#options.store.collection(name)
    const { history } = collection
    const from = this.#positions.get(name)
    this.#positions.set(name, history.end)
    const changed: Entry[] = []
    for (let position = from ?? history.end; position < history.end; position++) {
      const change = history.at(position)
      if (change === undefined) return collection.list()
      changed.push(change.entry, ...(change.before === undefined ? [] : [change.before]))
    }
    return from === undefined ? collection.list() : changed
  }

  async #reconcile(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const { store, log } = this.#options
    try {
      const problems = await store.write((transaction) => this.#updateSlices(transaction, namespace, name))
      if (problems.length > 0) log.warn('part of an Endpoints object is not mirrored', { object: key, problems })
    } catch (error) {
      // For example a full disk, or a namespace that is being deleted.
      log.warn('Endpoints object is not mirrored', { object: key, err: error })
    }
  }

  /** Returns what could not be mirrored. */
  #updateSlices(transaction: Transaction, namespace: string, name: string): readonly string[] {
    const { services, endpoints, slices } = this.#kinds
    const written = transaction.get(endpoints.collection, namespace, name)?.object
    const service = transaction.get(services.collection, namespace, name)?.object
    const existing = transaction
      .inNamespace(slices.collection, namespace)
      .filter(({ object }) => mirroredFor(object) === name)
    const isMirrored = written !== undefined && whyNotMirrored(written, service) === undefined
    const { slices: wanted, problems } = isMirrored ? mirrorEndpoints(written) : { slices: [], problems: [] }
    const unused = new Map(existing.map((entry) => [keyOfSlice(entry.object), entry]))
    const surplus = existing.filter((entry) => unused.get(keyOfSlice(entry.object)) !== entry)
    for (const { key, slice } of wanted) {
      const old = unused.get(key)
      unused.delete(key)
      this.#write(transaction, old, slice as unknown as ApiObject)
    }
    for (const entry of [...surplus, ...unused.values()]) this.#delete(transaction, entry)
    return problems
  }

  #write(transaction: Transaction, old: Entry | undefined, slice: ApiObject): void {
    const { context } = this.#options
    const kind = this.#kinds.slices
    const namespace = slice.metadata.namespace
    const target = { kind, namespace, isDryRun: false, track: (object: ApiObject) => object }
    if (old === undefined) {
      createObject(transaction, { ...target, object: slice }, context)
      return
    }
    const change = (current: ApiObject): ApiObject => {
      const { generateName, managedFields } = current.metadata
      const kept = {
        name: old.name,
        ...(generateName !== undefined && { generateName }),
        ...(managedFields !== undefined && { managedFields }),
      }
      return { ...slice, metadata: { ...slice.metadata, ...kept } }
    }
    updateObject(transaction, { ...target, name: old.name, subresource: undefined, change }, context)
  }

  #delete(transaction: Transaction, { namespace, name }: Entry): void {
    const target = { kind: this.#kinds.slices, namespace, name, isDryRun: false, preconditions: {} }
    deleteObject(transaction, target, this.#options.context)
  }
}

/** The Service that the slice was mirrored for, if it was mirrored. */
function mirroredFor({ metadata }: ApiObject): string | undefined {
  const { labels = {} } = metadata
  return labels[managedByLabel] === mirroringController ? labels[serviceNameLabel] : undefined
}
