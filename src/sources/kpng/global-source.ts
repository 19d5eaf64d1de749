/** The global API of a KPNG server as a source for a store of our own: the way to relay, and to compute on the node. */
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import type { WatchClient } from '../../kpng/client/watch-client.ts'
import { RefusedRecords } from '../../kpng/client/refused-records.ts'
import type { ClusterEndpoint } from '../../kpng/model/cluster-model.ts'
import { recordProblem } from '../../kpng/model/record-problem.ts'
import { endpointInfoShape, nodeShape, serviceShape } from '../../kpng/model/state-shape.ts'
import type { Shape } from '../../kpng/model/state-shape.ts'
import { EndpointInfo, NodeInfo, ServiceInfo } from '../../kpng/proto/generated/globalv1/api.ts'
import { Set as Sets } from '../../kpng/proto/generated/localv1/api.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'
import { parseGlobalPath, servicePath } from '../../kpng/wire/paths.ts'
import type { Logger } from '../../core/logger.ts'

export interface GlobalSourceOptions {
  readonly client: WatchClient
  readonly store: GlobalStore
  readonly log: Logger
}

interface SourceEntry {
  readonly namespace: string
  readonly source: string
  readonly service: string
  readonly endpointsByKey: Map<string, ClusterEndpoint>
}

export class KpngGlobalSource {
  readonly #options: GlobalSourceOptions
  /** By `namespace/service/source`. */
  #sources = new Map<string, SourceEntry>()
  readonly #refused: RefusedRecords

  constructor(options: GlobalSourceOptions) {
    this.#options = options
    this.#refused = new RefusedRecords(options.log)
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#options.client.follow({ api: 'global' }, (changes) => this.#apply(changes), signal)
  }

  /** What is as it was stays untouched, also when the server tells everything again. */
  #apply(changes: ChangeSet): void {
    const { store } = this.#options
    const before = this.#sources
    if (changes.isReset) this.#sources = new Map()
    const dirtySources = new Set<string>()
    const services = new Set<string>()
    const nodes = new Set<string>()
    for (const { Ref: ref, Bytes } of changes.sets) {
      const path = parseGlobalPath(ref?.Path ?? '')
      if (path === undefined) this.#ignore(ref?.Path)
      else if (ref?.Set === Sets.GlobalNodeInfos) {
        const { Hash, Node: node } = NodeInfo.decode(Bytes)
        if (node === undefined) continue
        nodes.add(node.Name)
        if (this.#isGood(ref.Path, node, nodeShape)) store.setNode({ node, hash: Hash })
      } else if (ref?.Set === Sets.GlobalServiceInfos) {
        const { Hash, Service: service } = ServiceInfo.decode(Bytes)
        if (service === undefined) continue
        services.add(servicePath(service.Namespace, service.Name))
        if (this.#isGood(ref.Path, service, serviceShape)) store.setService({ service, hash: Hash })
      } else if (ref?.Set === Sets.GlobalEndpointInfos) {
        // Each endpoint comes a second time under its source alone.
        if (path.name === '') continue
        const info = EndpointInfo.decode(Bytes)
        if (this.#isGood(ref.Path, info, endpointInfoShape)) dirtySources.add(this.#setEndpoint(path, info))
      } else this.#ignore(ref?.Path)
    }
    for (const { Set: set, Path } of changes.deletes) {
      const path = parseGlobalPath(Path)
      if (path === undefined) this.#ignore(Path)
      else if (set === Sets.GlobalNodeInfos) store.deleteNode(path.name)
      else if (set === Sets.GlobalServiceInfos) store.deleteService(servicePath(path.namespace, path.name))
      else if (set === Sets.GlobalEndpointInfos && path.name !== '') {
        const id = sourceId(path)
        this.#sources.get(id)?.endpointsByKey.delete(path.key)
        dirtySources.add(id)
      }
    }
    if (changes.isReset) {
      for (const name of store.nodeNames()) if (!nodes.has(name)) store.deleteNode(name)
      for (const path of store.servicePaths()) if (!services.has(path)) store.deleteService(path)
      for (const id of before.keys()) dirtySources.add(id)
    }
    for (const id of dirtySources) this.#deliver(id, before.get(id))
    for (const set of ['nodes', 'services', 'endpoints'] as const) store.markSynced(set)
  }

  #setEndpoint(path: { readonly key: string }, info: EndpointInfo): string {
    const id = sourceId({ namespace: info.Namespace, name: info.ServiceName, source: info.SourceName })
    let entry = this.#sources.get(id)
    if (entry === undefined) {
      const { Namespace: namespace, SourceName: source, ServiceName: service } = info
      entry = { namespace, source, service, endpointsByKey: new Map() }
      this.#sources.set(id, entry)
    }
    const serving = info.Conditions?.Ready ?? true
    entry.endpointsByKey.set(path.key, { info, serving, terminating: false, nodeHints: [] })
    return id
  }

  #deliver(id: string, before: SourceEntry | undefined): void {
    const { store } = this.#options
    const entry = this.#sources.get(id)
    if (entry !== undefined && entry.endpointsByKey.size > 0) {
      const endpoints = [...entry.endpointsByKey].sort(([left], [right]) => (left < right ? -1 : 1))
      store.replaceSource({ ...entry, endpoints: endpoints.map(([, endpoint]) => endpoint) })
      return
    }
    this.#sources.delete(id)
    const gone = entry ?? before
    if (gone !== undefined) store.replaceSource({ ...gone, endpoints: [] })
  }

  /** A bad version of a good record leaves the good one in place. */
  #isGood(path: string, record: object, shape: Shape): boolean {
    const problem = recordProblem(record, shape)
    if (problem === undefined) this.#refused.forget(path)
    else this.#refused.refuse(path, problem)
    return problem === undefined
  }

  #ignore(path: string | undefined): void {
    this.#options.log.warn('the KPNG server sent a path that is unknown here; it is ignored', { path })
  }
}

function sourceId(path: { readonly namespace: string; readonly name: string; readonly source: string }): string {
  return `${path.namespace}/${path.name}/${path.source}`
}
