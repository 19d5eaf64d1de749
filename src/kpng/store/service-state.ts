/**
 * One Service and its endpoints at one revision. What is derived from it is made on first use and shared: all nodes
 * that see the Service alike get the same bytes.
 */
import { serviceInfo } from '../model/cluster-model.ts'
import type { ClusterEndpoint, ClusterService } from '../model/cluster-model.ts'
import { ServiceInfo } from '../proto/generated/globalv1/api.ts'
import { Service, Set as Sets } from '../proto/generated/localv1/api.ts'
import { compareBytes } from '../wire/byte-order.ts'
import { deleteFrame, setFrame } from '../wire/op-frames.ts'
import { globalServicePath, servicePath } from '../wire/paths.ts'
import type { EndpointItems } from './endpoint-items.ts'
import { localView } from './local-view.ts'
import type { LocalView, Viewer } from './local-view.ts'
import type { OpItem } from './op-items.ts'

export interface GlobalView {
  readonly services: readonly OpItem[]
  readonly endpoints: readonly OpItem[]
}

export class ServiceState {
  /** Absent if slices name the Service, but it does not exist (yet). */
  readonly service: ClusterService | undefined
  /** Ordered by source, then as in the source. */
  readonly endpoints: readonly ClusterEndpoint[]
  readonly #items: EndpointItems
  readonly #viewsByPlace = new Map<string, LocalView>()
  #particularNodes: ReadonlySet<string> | undefined
  #hasZoneHints: boolean | undefined
  #serviceItem: OpItem | undefined
  #globalView: GlobalView | undefined

  constructor(service: ClusterService | undefined, endpoints: readonly ClusterEndpoint[], items: EndpointItems) {
    this.#items = items
    this.service = service
    this.endpoints = endpoints
  }

  /** All nodes see the Service itself alike. Absent if there is nothing to program. */
  get serviceItem(): OpItem | undefined {
    return (this.#serviceItem ??= this.service && localServiceItem(this.service.service))
  }

  /** Absent if there is nothing to program. */
  localView(viewer: Viewer): LocalView | undefined {
    const { service, serviceItem } = this
    if (service === undefined || serviceItem === undefined) return undefined
    const key = this.#viewerKey(viewer)
    let view = this.#viewsByPlace.get(key)
    if (view === undefined) {
      view = localView(service.service, serviceItem, this.endpoints, viewer, this.#items)
      this.#viewsByPlace.set(key, view)
    }
    return view
  }

  globalView(): GlobalView {
    return (this.#globalView ??= {
      services: this.service === undefined ? [] : [globalServiceItem(this.service)],
      endpoints: this.endpoints
        .map((endpoint) => this.#items.global(endpoint))
        .sort((left, right) => compareBytes(left.path, right.path))
        .filter((item, index, all) => item.path !== all[index - 1]?.path),
    })
  }

  /** They are made again when they are needed. */
  forgetViews(): void {
    this.#viewsByPlace.clear()
    this.#globalView = undefined
    this.#serviceItem = undefined
    this.#particularNodes = undefined
  }

  /** Nodes that see this Service differently: they have endpoints of it, or hints name them. */
  get particularNodes(): ReadonlySet<string> {
    return (this.#particularNodes ??= new Set(
      this.endpoints.flatMap(({ info, nodeHints }) => [info.Topology?.Node ?? '', ...nodeHints]),
    ))
  }

  /** Equal for all viewers that see the Service alike. */
  #viewerKey({ node, zone, wantsUnscoped }: Viewer): string {
    this.#hasZoneHints ??= this.endpoints.some(({ info }) => (info.Hints?.Zones.length ?? 0) > 0)
    const who = node !== '' && this.particularNodes.has(node) ? node : ''
    return `${wantsUnscoped ? '+' : '-'}|${this.#hasZoneHints ? zone : ''}|${who}`
  }
}

function localServiceItem(service: Service): OpItem {
  const path = servicePath(service.Namespace, service.Name)
  return {
    path,
    set: setFrame(Sets.ServicesSet, path, Service.encode(withAddressSets(service)).finish()),
    delete: deleteFrame(Sets.ServicesSet, path),
  }
}

/** Go backends crash when one of these is missing, even if it is empty. */
function withAddressSets(service: Service): Service {
  const { ClusterIPs, ExternalIPs, ...rest } = service.IPs ?? { Headless: false }
  const none = { V4: [], V6: [] }
  return { ...service, IPs: { ...rest, ClusterIPs: ClusterIPs ?? none, ExternalIPs: ExternalIPs ?? none } }
}

function globalServiceItem(service: ClusterService): OpItem {
  const path = globalServicePath(service.service.Namespace, service.service.Name)
  const message = { ...serviceInfo(service), Service: withAddressSets(service.service) }
  return {
    path,
    set: setFrame(Sets.GlobalServiceInfos, path, ServiceInfo.encode(message).finish()),
    delete: deleteFrame(Sets.GlobalServiceInfos, path),
  }
}
