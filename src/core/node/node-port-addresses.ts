/** On which addresses of this node the node ports are open. */
import { cidrContains, familyOf, isLoopback, parseCidr } from '../../net/ip.ts'
import type { Cidr, Family } from '../../net/ip.ts'

export interface NodePortAddresses {
  readonly family: Family
  /** Any local address; then `cidrs` does not matter. */
  readonly matchesAll: boolean
  readonly cidrs: readonly Cidr[]
  /** 127.0.0.0/8 is among them, or some of it. Never for IPv6, which cannot route from loopback. */
  readonly containsLoopback: boolean
}

/** No CIDR of the family, like no CIDR at all, means every address. */
export function nodePortAddresses(texts: readonly string[], family: Family): NodePortAddresses {
  const ofFamily = texts.flatMap((text) => parseCidr(text) ?? []).filter((cidr) => cidr.family === family)
  const matchesAll = ofFamily.length === 0 || ofFamily.some(({ prefixLength }) => prefixLength === 0)
  return {
    family,
    matchesAll,
    cidrs: matchesAll ? [] : ofFamily,
    containsLoopback: family === 'ipv4' && (matchesAll || ofFamily.some(touchesLoopback)),
  }
}

/**
 * The addresses that node ports are open on, sorted. Undefined: all of them, those that come later too. `canServe` is the
 * choice of the data plane: for most, packets to loopback cannot leave through another interface.
 */
export function nodePortIps(
  addresses: NodePortAddresses,
  localIps: Iterable<string>,
  canServe: (ip: string) => boolean = (ip) => !isLoopback(ip),
): readonly string[] | undefined {
  if (addresses.matchesAll) return undefined
  return matchingAddresses(addresses, localIps).filter(canServe).sort()
}

/** Those of the node's addresses that node ports are open on, each once. */
export function matchingAddresses(addresses: NodePortAddresses, localIps: Iterable<string>): readonly string[] {
  const ofFamily = [...new Set(localIps)].filter((ip) => familyOf(ip) === addresses.family)
  return addresses.matchesAll
    ? ofFamily
    : ofFamily.filter((ip) => addresses.cidrs.some((cidr) => cidrContains(cidr, ip)))
}

/**
 * Replaces the word `primary` by the node's own addresses. A family without one ends up with no CIDR, and so open on
 * every address: kube-proxy does the same.
 */
export function expandPrimary(texts: readonly string[], nodeIps: Readonly<Record<Family, string>>): readonly string[] {
  if (texts.length !== 1 || texts[0] !== 'primary') return texts
  return [nodeIps.ipv4, nodeIps.ipv6]
    .filter((ip) => !isLoopback(ip))
    .map((ip) => `${ip}/${familyOf(ip) === 'ipv4' ? 32 : 128}`)
}

function touchesLoopback(cidr: Cidr): boolean {
  return isLoopback(cidr.network) || cidrContains(cidr, '127.0.0.0')
}
