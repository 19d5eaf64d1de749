/** What one route puts into the IP sets. */
import type { AddressEntrance, AllowedSources, Entrance, NodePortEntrance, Route } from '../../core/route.ts'
import type { SetId } from './ip-sets.ts'
import type { PlannedServer } from './planned-server.ts'
import type { IpvsSettings } from './settings.ts'

export interface SetEntry {
  readonly set: SetId
  /** As `ipset save` prints it. */
  readonly entry: string
}

/** An entry may come twice, when two things of the route need it. */
export function setEntries(
  route: Route,
  servers: readonly PlannedServer[],
  settings: IpvsSettings,
): readonly SetEntry[] {
  const protocol = route.protocol.toLowerCase()
  const entries: SetEntry[] = []
  const add = (set: SetId, entry: string) => void entries.push({ set, entry })
  // Not ready ones too: one may be the only one left to serve itself.
  for (const { ip, port, isLocal } of route.endpoints) if (isLocal) add('loopBack', `${ip},${protocol}:${port},${ip}`)
  for (const entrance of route.entrances)
    if (entrance.kind === 'node-port')
      for (const { set, entry } of nodePortEntries(entrance, route, settings)) add(set, entry)
    else for (const { set, entry } of addressEntries(entrance, protocol)) add(set, entry)
  if (route.healthCheckNodePort !== undefined) add('healthCheckNodePort', `${route.healthCheckNodePort}`)
  for (const { ip, isBound } of servers) if (isBound) add('ipvsIps', ip)
  return entries
}

function addressEntries(entrance: AddressEntrance, protocol: string): readonly SetEntry[] {
  const { kind, ip, port, allowed } = entrance
  const entry = `${ip},${protocol}:${port}`
  switch (kind) {
    case 'cluster-ip':
      return [{ set: 'clusterIp', entry }]
    case 'external-ip':
      return [{ set: keepsSource(entrance) ? 'externalIpLocal' : 'externalIp', entry }]
    case 'load-balancer-ip':
      return [
        { set: 'loadBalancer', entry },
        ...(keepsSource(entrance) ? [{ set: 'loadBalancerLocal', entry } as const] : []),
        ...(allowed === undefined ? [] : firewallEntries(entry, ip, allowed)),
      ]
    default:
      return kind satisfies never
  }
}

function firewallEntries(entry: string, ip: string, { ranges, ownAddresses }: AllowedSources): readonly SetEntry[] {
  return [
    { set: 'loadBalancerFirewall', entry },
    ...ranges.map((range) => ({
      set: 'loadBalancerSourceCidr' as const,
      entry: `${entry},${withoutFullLength(range)}`,
    })),
    // The node connects to an address that it holds from that very address, never from another of the load balancer.
    ...(ownAddresses.includes(ip) ? [{ set: 'loadBalancerSourceIp', entry: `${entry},${ip}` } as const] : []),
  ]
}

function nodePortEntries(
  entrance: NodePortEntrance,
  { protocol }: Route,
  { nodePortIps }: IpvsSettings,
): readonly SetEntry[] {
  if (nodePortIps.length === 0) return []
  const { port } = entrance
  const [all, local] = nodePortSets[protocol]
  const sets: readonly SetId[] = keepsSource(entrance) ? [all, local] : [all]
  const entries = protocol === 'SCTP' ? nodePortIps.map((ip) => `${ip},sctp:${port}`) : [`${port}`]
  return sets.flatMap((set) => entries.map((entry) => ({ set, entry })))
}

/** Endpoints see the address of a client outside: nothing is masqueraded. */
function keepsSource({ keepsSourceOf }: Entrance): boolean {
  return keepsSourceOf === 'all-but-node'
}

const nodePortSets = {
  TCP: ['nodePortTcp', 'nodePortLocalTcp'],
  UDP: ['nodePortUdp', 'nodePortLocalUdp'],
  SCTP: ['nodePortSctp', 'nodePortLocalSctp'],
} as const

/** A range of one address has no length in a set. kube-proxy deletes and adds it at each sync, for want of this. */
function withoutFullLength(cidr: string): string {
  return cidr.replace(cidr.includes(':') ? /\/128$/ : /\/32$/, '')
}
