/** The names of a Service port's chains: the same hashes as kube-proxy's, so that each takes over from the other. */
import { createHash } from 'node:crypto'
import { routeName } from '../../core/route.ts'
import type { Endpoint, Route } from '../../core/route.ts'

export interface ServiceChainNames {
  /** Spreads over the endpoints that policy Cluster allows. */
  readonly cluster: string
  /** Spreads over the endpoints that policy Local allows. */
  readonly local: string
  /** Where traffic for external addresses enters. */
  readonly external: string
  /** Lets the source ranges pass. */
  readonly firewall: string
  endpoint(endpoint: Pick<Endpoint, 'address'>): string
}

export function serviceChainNames(
  route: Pick<Route, 'namespace' | 'name' | 'portName' | 'protocol'>,
): ServiceChainNames {
  const id = routeName(route) + route.protocol.toLowerCase()
  const suffix = hash(id)
  return {
    cluster: `KUBE-SVC-${suffix}`,
    local: `KUBE-SVL-${suffix}`,
    external: `KUBE-EXT-${suffix}`,
    firewall: `KUBE-FW-${suffix}`,
    endpoint: ({ address }) => `KUBE-SEP-${hash(id + address)}`,
  }
}

/** Chains with these prefixes belong to some Service port, ours or an earlier process's. */
export const serviceChainPrefixes = ['KUBE-SVC-', 'KUBE-SVL-', 'KUBE-SEP-', 'KUBE-FW-', 'KUBE-EXT-'] as const

export function isServiceChain(name: string): boolean {
  return serviceChainPrefixes.some((prefix) => name.startsWith(prefix))
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The first 16 characters of the base32 text of the SHA-256: 80 bits, ten bytes. */
function hash(text: string): string {
  const digest = createHash('sha256').update(text).digest()
  let name = ''
  for (let start = 0; start < 10; start += 5) {
    const high = digest.readUInt32BE(start)
    const low = digest[start + 4] ?? 0
    for (let shift = 27; shift >= 0; shift -= 5) name += alphabet[(high >>> shift) & 31]
    name += alphabet.charAt(((high & 3) << 3) | (low >>> 5)) + alphabet.charAt(low & 31)
  }
  return name
}
