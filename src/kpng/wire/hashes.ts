/**
 * What KPNG hashes. A Go peer accepts an update only if its hash is new, so the hash must cover everything that a node
 * could react to. KPNG itself leaves out hints and so misses their changes; here they are included. An endpoint without
 * hints has the same hash as from a Go core.
 */
import { EndpointInfo, Node, ServiceInfo } from '../proto/generated/globalv1/api.ts'
import { Endpoint } from '../proto/generated/localv1/api.ts'
import type { Service } from '../proto/generated/localv1/api.ts'
import { xxh64 } from './xxh64.ts'

export function hashService(service: Service): bigint {
  return xxh64(ServiceInfo.encode({ Hash: 0n, Service: service }).finish())
}

export function hashNode(node: Node): bigint {
  return xxh64(Node.encode(node).finish())
}

export function hashEndpointInfo({ Endpoint: endpoint, Conditions, Topology, Hints }: EndpointInfo): bigint {
  const hashed = { ...nothing, Endpoint: endpoint, Conditions, Topology, Hints }
  return xxh64(EndpointInfo.encode(hashed).finish())
}

/** The key of an endpoint without a pod. */
export function hashEndpoint(endpoint: Endpoint): bigint {
  return xxh64(Endpoint.encode(endpoint).finish())
}

const nothing: EndpointInfo = { Hash: 0n, Namespace: '', SourceName: '', ServiceName: '', PodName: '' }
