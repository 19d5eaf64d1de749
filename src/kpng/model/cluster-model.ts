/** The global model: the state of the whole cluster, independent of any node. Values never change. */
import type { EndpointInfo, NodeInfo, ServiceInfo } from '../proto/generated/globalv1/api.ts'
import type { Service } from '../proto/generated/localv1/api.ts'
import { hashEndpointInfo, hashNode, hashService } from '../wire/hashes.ts'
import type { Node } from '../proto/generated/globalv1/api.ts'

export interface ClusterService {
  readonly service: Service
  readonly hash: bigint
}

export interface ClusterEndpoint {
  readonly info: EndpointInfo
  /** KPNG's messages do not have it. A source that does not know more sets `serving` to `Ready`. */
  readonly serving: boolean
  readonly terminating: boolean
  readonly nodeHints: readonly string[]
}

export interface ClusterNode {
  readonly node: Node
  readonly hash: bigint
}

/** The endpoints of one source (an EndpointSlice), all of one Service. */
export interface EndpointSource {
  readonly namespace: string
  readonly source: string
  readonly service: string
  readonly endpoints: readonly ClusterEndpoint[]
}

export function clusterService(service: Service): ClusterService {
  return { service, hash: hashService(service) }
}

export function clusterNode(node: Node): ClusterNode {
  return { node, hash: hashNode(node) }
}

export function clusterEndpoint(
  info: Omit<EndpointInfo, 'Hash'>,
  { serving, terminating, nodeHints }: Omit<ClusterEndpoint, 'info'>,
): ClusterEndpoint {
  const whole = { Hash: 0n, ...info }
  return { info: { ...whole, Hash: hashEndpointInfo(whole) }, serving, terminating, nodeHints }
}

export function serviceInfo({ service, hash }: ClusterService): ServiceInfo {
  return { Hash: hash, Service: service }
}

export function nodeInfo({ node, hash }: ClusterNode): NodeInfo {
  return { Hash: hash, Node: node }
}

/** Absent conditions mean ready. */
export function isReady({ info }: ClusterEndpoint): boolean {
  return info.Conditions?.Ready ?? true
}
