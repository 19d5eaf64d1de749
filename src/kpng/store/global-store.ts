/**
 * The global model with its recent past. Each peer has a reader: the revision that the peer has been sent. The store
 * keeps only what readers still need for a difference.
 */
import { isSameData } from '../../core/same-data.ts'
import type { SpanContext } from '../../core/trace.ts'
import type { ClusterEndpoint, ClusterNode, ClusterService, EndpointSource } from '../model/cluster-model.ts'
import { servicePath } from '../wire/paths.ts'
import { EndpointItems } from './endpoint-items.ts'
import { RecentCauses } from './recent-causes.ts'
import { ServiceState } from './service-state.ts'
import { VersionedMap } from './versioned-map.ts'

export type ModelSet = 'services' | 'endpoints' | 'nodes'

export interface StoreReader {
  /** The newest revision that the reader knows. */
  readonly revision: number
  /** It fell so far behind that the difference is forgotten, and has to start again. */
  expire(): void
}

export interface GlobalStoreOptions {
  /**
   * How far a reader may fall behind: in changes, where each endpoint that came with a change counts as one too, and 64
   * that stayed. So the memory has a limit that does not depend on the size of Services.
   */
  readonly maxBacklog: number
}

interface ServiceParts {
  service: ClusterService | undefined
  readonly endpointsBySource: Map<string, readonly ClusterEndpoint[]>
}

export class GlobalStore {
  readonly #options: GlobalStoreOptions
  readonly #items = new EndpointItems()
  /** The newest parts, by the Service's path. */
  readonly #partsByService = new Map<string, ServiceParts>()
  /** Which Service each source belongs to, by `namespace/source`. */
  readonly #serviceBySource = new Map<string, string>()
  readonly #nodesByName = new Map<string, ClusterNode>()
  readonly services = new VersionedMap<ServiceState>((state) => state.forgetViews())
  readonly nodes = new VersionedMap<ClusterNode>()
  readonly #dirtyServices = new Set<string>()
  readonly #dirtyNodes = new Set<string>()
  readonly #syncedSets = new Set<ModelSet>()
  readonly #readers = new Set<StoreReader>()
  readonly #listeners = new Set<() => void>()
  readonly causes = new RecentCauses()
  /** Of the changes that are being made. */
  #cause: SpanContext | undefined
  #hasTouched = false
  #revision = 0
  #isCommitScheduled = false

  constructor(options: GlobalStoreOptions = { maxBacklog: 50_000 }) {
    this.#options = options
  }

  get revision(): number {
    return this.#revision
  }

  /** All sets have been complete once. Before that, a missing object may still come. */
  get isSynced(): boolean {
    return this.#syncedSets.size === 3
  }

  /** What `change` changes was caused by this. Returns whether anything was different. */
  caused(cause: SpanContext | undefined, change: () => void): boolean {
    this.#cause = cause
    this.#hasTouched = false
    try {
      change()
      return this.#hasTouched
    } finally {
      this.#cause = undefined
    }
  }

  setService(service: ClusterService): void {
    const path = servicePath(service.service.Namespace, service.service.Name)
    const parts = this.#parts(path)
    if (parts.service?.hash === service.hash) return
    parts.service = service
    this.#touchService(path)
  }

  deleteService(path: string): void {
    const parts = this.#partsByService.get(path)
    if (parts?.service === undefined) return
    parts.service = undefined
    this.#touchService(path)
  }

  /** Replaces all endpoints of one source; an empty list removes it. */
  replaceSource({ namespace, source, service, endpoints }: EndpointSource): void {
    const id = `${namespace}/${source}`
    const path = servicePath(namespace, service)
    const previous = this.#serviceBySource.get(id)
    if (previous !== undefined && previous !== path) this.#dropSource(id, previous, source)
    if (endpoints.length === 0) return this.#dropSource(id, path, source)
    this.#serviceBySource.set(id, path)
    const { endpointsBySource } = this.#parts(path)
    const before = endpointsBySource.get(source) ?? []
    const after = reusing(before, endpoints)
    if (isSameList(before, after)) return
    endpointsBySource.set(source, after)
    this.#touchService(path)
  }

  deleteSource(namespace: string, source: string): void {
    const id = `${namespace}/${source}`
    const service = this.#serviceBySource.get(id)
    if (service !== undefined) this.#dropSource(id, service, source)
  }

  setNode(node: ClusterNode): void {
    if (this.#nodesByName.get(node.node.Name)?.hash === node.hash) return
    this.#nodesByName.set(node.node.Name, node)
    this.#touchNode(node.node.Name)
  }

  deleteNode(name: string): void {
    if (this.#nodesByName.delete(name)) this.#touchNode(name)
  }

  markSynced(set: ModelSet): void {
    if (this.#syncedSets.has(set)) return
    this.#syncedSets.add(set)
    this.#scheduleCommit()
  }

  servicePaths(): Iterable<string> {
    return this.#partsByService.keys()
  }

  /** Pairs of `namespace/source` and the path of its Service. */
  sources(): Iterable<readonly [string, string]> {
    return this.#serviceBySource
  }

  hasService(path: string): boolean {
    return this.#partsByService.get(path)?.service !== undefined
  }

  /** By `namespace/source`. */
  hasSource(id: string): boolean {
    return this.#serviceBySource.has(id)
  }

  nodeNames(): Iterable<string> {
    return this.#nodesByName.keys()
  }

  zoneOf(node: string): string {
    return this.#nodesByName.get(node)?.node.Topology?.Zone ?? ''
  }

  /** Called after each new revision. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Keeps what the reader needs until it is removed. */
  addReader(reader: StoreReader): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  /** Makes one revision of all changes so far. Otherwise that happens when the current batch of events is complete. */
  commit(): void {
    this.#isCommitScheduled = false
    const revision = this.#revision + 1
    let isNews = !this.#hasAnnouncedSync && this.isSynced
    this.#hasAnnouncedSync = this.isSynced
    for (const path of this.#dirtyServices) isNews = this.#commitService(path, revision) || isNews
    for (const name of this.#dirtyNodes) {
      this.nodes.set(name, revision, this.#nodesByName.get(name))
      isNews = true
    }
    this.#dirtyServices.clear()
    this.#dirtyNodes.clear()
    if (!isNews) return
    this.#revision = revision
    this.causes.stamp(revision)
    for (const listener of this.#listeners) listener()
    this.#forget()
  }

  #hasAnnouncedSync = false

  #parts(path: string): ServiceParts {
    let parts = this.#partsByService.get(path)
    if (parts === undefined) {
      parts = { service: undefined, endpointsBySource: new Map() }
      this.#partsByService.set(path, parts)
    }
    return parts
  }

  #dropSource(id: string, service: string, source: string): void {
    if (this.#serviceBySource.get(id) !== service) return
    this.#serviceBySource.delete(id)
    if (this.#partsByService.get(service)?.endpointsBySource.delete(source) === true) this.#touchService(service)
  }

  #touchService(path: string): void {
    this.#dirtyServices.add(path)
    this.#hasTouched = true
    if (this.#cause !== undefined) this.causes.note(path, this.#cause)
    this.#scheduleCommit()
  }

  #touchNode(name: string): void {
    this.#dirtyNodes.add(name)
    this.#scheduleCommit()
  }

  #scheduleCommit(): void {
    if (this.#isCommitScheduled) return
    this.#isCommitScheduled = true
    queueMicrotask(() => this.#isCommitScheduled && this.commit())
  }

  /** Returns whether anything is different now. */
  #commitService(path: string, revision: number): boolean {
    const { service, endpointsBySource } = this.#parts(path)
    const before = this.services.latest(path)
    if (service === undefined && endpointsBySource.size === 0) {
      this.#partsByService.delete(path)
      this.services.set(path, revision, undefined)
      return before !== undefined
    }
    const sources = [...endpointsBySource].sort(([left], [right]) => (left < right ? -1 : 1))
    const endpoints = sources.flatMap(([, list]) => list)
    if (before?.service?.hash === service?.hash && before !== undefined && isSameList(before.endpoints, endpoints))
      return false
    const state = new ServiceState(service, endpoints, this.#items)
    this.services.set(path, revision, state, weightOf(endpoints, before?.endpoints ?? []))
    return true
  }

  #forget(): void {
    const { maxBacklog } = this.#options
    for (const map of [this.services, this.nodes]) {
      if (map.weight <= maxBacklog) continue
      const oldestKept = map.oldestWithin(maxBacklog)
      for (const reader of this.#readers)
        if (reader.revision > 0 && reader.revision < oldestKept) {
          this.#readers.delete(reader)
          reader.expire()
        }
    }
    let oldest = this.#revision
    // A reader that knows nothing gets everything, so it needs no past.
    for (const { revision } of this.#readers) if (revision > 0 && revision < oldest) oldest = revision
    this.services.forgetBefore(oldest)
    this.nodes.forgetBefore(oldest)
  }
}

function weightOf(endpoints: readonly ClusterEndpoint[], before: readonly ClusterEndpoint[]): number {
  const known = new Set(before)
  const added = endpoints.reduce((count, endpoint) => (known.has(endpoint) ? count : count + 1), 0)
  return 1 + added + Math.floor(endpoints.length / 64)
}

/** Keeps the known objects where they are equal, so that what is derived from them is made only once. */
function reusing(before: readonly ClusterEndpoint[], after: readonly ClusterEndpoint[]): readonly ClusterEndpoint[] {
  const knownByHash = new Map(before.map((endpoint) => [endpoint.info.Hash, endpoint]))
  return after.map((endpoint) => {
    const known = knownByHash.get(endpoint.info.Hash)
    return known !== undefined && isSameData(known, endpoint) ? known : endpoint
  })
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}
