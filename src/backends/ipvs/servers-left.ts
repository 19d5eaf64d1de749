/**
 * Which virtual servers are a proxy's: others may use IPVS on the same node. One is a proxy's when its address is on the
 * dummy link, or when a set names it: node ports, and addresses that another interface has, are not on the link.
 */
import { removalOf } from '../../core/leftover.ts'
import type { Removal } from '../../core/leftover.ts'
import type { FoundLink } from '../../dataplane/addresses/addresses.ts'
import type { ListedSet } from '../../dataplane/ipset/ipset.ts'
import type { Ipvs, ServerAddress } from '../../dataplane/ipvs/ipvs.ts'
import { familyOf, hostPort, ipToBigInt } from '../../net/ip.ts'
import { ipvsLink } from './ipvs-link.ts'

export interface Evidence {
  readonly link: FoundLink | undefined
  readonly sets: readonly ListedSet[]
}

export function serversLeft(ipvs: Ipvs, servers: readonly ServerAddress[], evidence: Evidence): readonly Removal[] {
  const reasonOf = judge(evidence)
  return inOrder(servers).flatMap((server) => {
    const reason = reasonOf(server)
    if (reason === undefined) return []
    const { protocol, ip, port } = server
    const what = `ipvs: virtual server ${protocol.toLowerCase()} ${hostPort(ip, port)}`
    return [removalOf({ what, reason, modes: ['ipvs'] }, (signal) => deleteServer(ipvs, server, signal))]
  })
}

/** Undefined for a server of others. */
function judge({ link, sets }: Evidence): (server: ServerAddress) => string | undefined {
  const serviceIps = new Set([
    ...(link?.kind === 'dummy' ? link.ips : []),
    ...sets.flatMap(({ name, entries }) => (name.endsWith('-IPVS-IPS') ? [...entries] : [])),
  ])
  const named = new Set(sets.flatMap(({ name, entries }) => Array.from(entries, (entry) => namedServer(name, entry))))
  return (server) => {
    const { ip, port } = server
    const protocol = server.protocol.toLowerCase()
    if (serviceIps.has(ip)) return `${ip} is an address of a Service on ${ipvsLink}`
    if (named.has(`${ip},${protocol}:${port}`)) return 'an ipset of the ipvs mode names it'
    return named.has(`${protocol}:${port}`) ? `${port} is a node port of the ipvs mode` : undefined
  }
}

/** Entries with an address are unique as they are; those of the node port sets need their protocol. */
function namedServer(set: string, entry: string): string {
  const protocol = /NODE-PORT(?:-LOCAL)?-(TCP|UDP)$/.exec(set)?.[1]
  return protocol === undefined ? entry : `${protocol.toLowerCase()}:${entry}`
}

const protocolOrder = { TCP: 0, UDP: 1, SCTP: 2 } as const

/** As ipvsadm lists them; the kernel has no order. */
function inOrder(servers: readonly ServerAddress[]): readonly ServerAddress[] {
  const keyed = servers.map((server) => {
    const { ip, port, protocol } = server
    const numbers = [ipToBigInt(ip).toString(16).padStart(32, '0'), String(port).padStart(5, '0')]
    return { key: [familyOf(ip), protocolOrder[protocol], ...numbers].join(' '), server }
  })
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ server }) => server)
}

async function deleteServer(ipvs: Ipvs, server: ServerAddress, signal: AbortSignal): Promise<void> {
  const errors = await ipvs.apply([{ kind: 'delete-server', server }], signal)
  for (const error of errors.values()) throw error
}
