/** Encoded endpoints. An endpoint that does not change keeps its bytes, whatever changes around it. */
import type { ClusterEndpoint } from '../model/cluster-model.ts'
import { EndpointInfo } from '../proto/generated/globalv1/api.ts'
import { Endpoint, Set as Sets } from '../proto/generated/localv1/api.ts'
import type { EndpointScopes, Service } from '../proto/generated/localv1/api.ts'
import { hashEndpoint } from '../wire/hashes.ts'
import { deleteFrame, setFrame } from '../wire/op-frames.ts'
import { endpointPath, globalEndpointPath, servicePath } from '../wire/paths.ts'
import type { OpItem } from './op-items.ts'

export interface SeenAs {
  /** Its name in the path; without one, its hash is used. */
  readonly key: string | undefined
  readonly scopes: EndpointScopes
  readonly isLocal: boolean
}

export class EndpointItems {
  readonly #itemsByEndpoint = new WeakMap<ClusterEndpoint, Map<string, OpItem>>()
  readonly #globalItems = new WeakMap<ClusterEndpoint, OpItem>()

  of(service: Service, endpoint: ClusterEndpoint, seen: SeenAs): OpItem {
    let items = this.#itemsByEndpoint.get(endpoint)
    if (items === undefined) this.#itemsByEndpoint.set(endpoint, (items = new Map<string, OpItem>()))
    const { Internal, External } = seen.scopes
    const targets = targetNames(service, endpoint.info.Endpoint).map(({ Name }) => Name)
    const id = `${Internal}/${External}/${seen.isLocal}/${seen.key ?? ''}/${targets.join(',')}`
    let item = items.get(id)
    if (item === undefined)
      items.set(id, (item = endpointItem(service, seen.key, localEndpoint(service, endpoint, seen))))
    return item
  }

  /** For clients that watch the whole cluster. */
  global(endpoint: ClusterEndpoint): OpItem {
    let item = this.#globalItems.get(endpoint)
    if (item === undefined) this.#globalItems.set(endpoint, (item = globalEndpointItem(endpoint)))
    return item
  }
}

function globalEndpointItem({ info }: ClusterEndpoint): OpItem {
  const path = globalEndpointPath(info.Namespace, info.ServiceName, info.SourceName, info.Hash)
  return {
    path,
    set: setFrame(Sets.GlobalEndpointInfos, path, EndpointInfo.encode(info).finish()),
    delete: deleteFrame(Sets.GlobalEndpointInfos, path),
  }
}

function localEndpoint(service: Service, { info }: ClusterEndpoint, seen: SeenAs): Endpoint {
  const endpoint: Endpoint = info.Endpoint ?? { Hostname: '', Local: false, PortOverrides: [] }
  return {
    ...endpoint,
    IPs: endpoint.IPs ?? { V4: [], V6: [] }, // Go backends crash without it
    PortOverrides: [...endpoint.PortOverrides, ...targetNames(service, endpoint)],
    Local: seen.isLocal,
    Scopes: seen.scopes,
  }
}

/** Go backends look up an unnamed port by the name of its target, which a slice does not contain. */
function targetNames(service: Service, endpoint: Endpoint | undefined): Endpoint['PortOverrides'] {
  const unnamed = endpoint?.PortOverrides.find(({ Name }) => Name === '')
  if (unnamed === undefined) return []
  return service.Ports.filter(({ Name, TargetPortName }) => Name === '' && TargetPortName !== '').map(
    ({ TargetPortName }) => ({ Name: TargetPortName, Port: unnamed.Port }),
  )
}

function endpointItem(service: Service, podKey: string | undefined, message: Endpoint): OpItem {
  const key = podKey ?? hashEndpoint(message).toString(16)
  const path = endpointPath(servicePath(service.Namespace, service.Name), key)
  return {
    path,
    set: setFrame(Sets.EndpointsSet, path, Endpoint.encode(message).finish()),
    delete: deleteFrame(Sets.EndpointsSet, path),
  }
}
