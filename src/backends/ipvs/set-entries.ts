/** What one route puts into the IP sets. */
import type { Route } from '../../core/route.ts'
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
  const isLocal = route.externalPolicy === 'Local'
  const entries: SetEntry[] = []
  const add = (set: SetId, entry: string) => void entries.push({ set, entry })
  // Not ready ones too: one may be the only one left to serve itself.
  for (const { ip, port, isLocal } of route.endpoints) if (isLocal) add('loopBack', `${ip},${protocol}:${port},${ip}`)
  add('clusterIp', `${route.clusterIP},${protocol}:${route.port}`)
  for (const ip of route.externalIPs) add(isLocal ? 'externalIpLocal' : 'externalIp', `${ip},${protocol}:${route.port}`)
  for (const ip of route.loadBalancerIPs) {
    const address = `${ip},${protocol}:${route.port}`
    add('loadBalancer', address)
    if (isLocal) add('loadBalancerLocal', address)
    if (route.sourceRanges === undefined) continue
    add('loadBalancerFirewall', address)
    for (const range of route.sourceRanges) add('loadBalancerSourceCidr', `${address},${withoutFullLength(range)}`)
    if (route.sourceRangesCoverNode) add('loadBalancerSourceIp', `${address},${ip}`)
  }
  if (route.nodePort !== 0 && settings.nodePortIps.length > 0)
    for (const { set, entry } of nodePortEntries(route, settings)) add(set, entry)
  if (route.healthCheckNodePort !== 0) add('healthCheckNodePort', `${route.healthCheckNodePort}`)
  for (const { ip, isBound } of servers) if (isBound) add('ipvsIps', ip)
  return entries
}

function nodePortEntries({ protocol, nodePort, externalPolicy }: Route, { nodePortIps }: IpvsSettings): SetEntry[] {
  const [all, local] = nodePortSets[protocol]
  const sets: SetId[] = externalPolicy === 'Local' ? [all, local] : [all]
  const entries = protocol === 'SCTP' ? nodePortIps.map((ip) => `${ip},sctp:${nodePort}`) : [`${nodePort}`]
  return sets.flatMap((set) => entries.map((entry) => ({ set, entry })))
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
