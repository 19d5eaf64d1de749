/** The kernel as this mode meets it: the doors it programs through, and what a full sync finds behind them. */
import type { Addresses, LinkAddress } from '../../dataplane/addresses/addresses.ts'
import type { Ipset, ListedSet } from '../../dataplane/ipset/ipset.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import type { Ipvs, ListedServer } from '../../dataplane/ipvs/ipvs.ts'
import type { Family } from '../../net/ip.ts'
import { familyOf, hostPort } from '../../net/ip.ts'
import type { Draining } from './draining.ts'
import type { GivenWeights } from './given-weights.ts'
import type { Held, HeldEndpoint, HeldServer } from './held.ts'
import { eachSet, setIds, setName } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import { isServable } from './node-addresses.ts'
import { serverId } from './planned-server.ts'
import type { ServerId } from './planned-server.ts'

export interface Kernel {
  readonly ipvs: Ipvs
  readonly ipset: Ipset
  readonly addresses: Addresses
  readonly iptables: Iptables
}

export interface Found {
  /** Of the family. */
  readonly servers: readonly ListedServer[]
  readonly sets: readonly ListedSet[]
  /** On our link; only whole addresses, which we may remove. */
  readonly linkIps: readonly string[]
  /** On all other links. */
  readonly otherIps: readonly string[]
}

export async function readKernel(kernel: Kernel, family: Family, signal: AbortSignal): Promise<Found> {
  const listed = await kernel.ipvs.list(signal)
  const names = setIds.map((id) => setName(id, family))
  return {
    servers: listed.filter(({ ip }) => familyOf(ip) === family),
    sets: await kernel.ipset.list(names, signal),
    ...(await readAddresses(kernel.addresses, family, signal)),
  }
}

async function readAddresses(
  addresses: Pick<Addresses, 'list'>,
  family: Family,
  signal: AbortSignal,
): Promise<Pick<Found, 'linkIps' | 'otherIps'>> {
  const listed = await addresses.list(signal)
  return {
    linkIps: listed.filter((address) => isOurs(address, family)).map(({ ip }) => ip),
    otherIps: listed.filter(({ link, ip }) => link !== ipvsLink && familyOf(ip) === family).map(({ ip }) => ip),
  }
}

function isOurs({ link, ip, prefixLength }: LinkAddress, family: Family): boolean {
  return link === ipvsLink && isServable(ip, family) && prefixLength === (family === 'ipv4' ? 32 : 128)
}

/** The rules are not part of it: a full sync writes them anew in any case. */
export function heldAsFound(
  found: Found,
  { family, draining, weights }: { family: Family; draining: Draining; weights: GivenWeights },
): Held {
  const serversById = new Map<ServerId, HeldServer>()
  for (const { realServers, ...server } of found.servers) {
    const id = serverId(server)
    const endpoints: HeldEndpoint[] = []
    for (const { ip, port, weight } of realServers) {
      const address = hostPort(ip, port)
      if (draining.has(id, address)) continue
      // Later on a weight that somebody set by hand is theirs; kube-proxy does the same.
      endpoints.push({ ip, port, address, weight: weights.areKnown ? weights.of(id, address) : weight })
    }
    serversById.set(id, { ...server, endpoints })
  }
  const entriesByName = new Map(found.sets.map(({ name, entries }) => [name, entries]))
  const entriesBySet = eachSet((set) => entriesByName.get(setName(set, family)) ?? new Set<string>())
  return {
    server: (id) => serversById.get(id),
    serverIds: () => serversById.keys(),
    entries: (set) => entriesBySet[set],
    addresses: new Set(found.linkIps),
    outRules: new Set(),
  }
}
