/** The names of a Service port's chains: the same hashes as kube-proxy's, so that each takes over from the other. */
import { hash } from 'node:crypto'
import type { Protocol, TrafficPolicy } from '../../api/records.ts'
import { routeName } from '../../core/route.ts'
import type { Endpoint, Route } from '../../core/route.ts'
import { serviceChainPrefixes } from '../../dataplane/iptables/language/kube-chains.ts'

export interface ServiceChainNames {
  /** `namespace/name:port`, as it stands in every comment. */
  readonly service: string
  /** Spreads over the endpoints that policy Cluster allows. */
  readonly cluster: string
  /** Spreads over the endpoints that policy Local allows. */
  readonly local: string
  /** Where traffic for external addresses enters. */
  readonly external: string
  /** Lets the source ranges pass. */
  readonly firewall: string
  /** Spreads over the endpoints that this policy allows. */
  spreading(policy: TrafficPolicy): string
  endpoint(endpoint: Pick<Endpoint, 'address'>): string
}

export function serviceChainNames(
  route: Pick<Route, 'namespace' | 'name' | 'portName' | 'protocol'>,
): ServiceChainNames {
  return new ChainNames(routeName(route), route.protocol)
}

class ChainNames implements ServiceChainNames {
  readonly service: string
  readonly cluster: string
  readonly #id: string
  readonly #digest: string
  readonly #chainsByAddress = new Map<string, string>()

  constructor(service: string, protocol: Protocol) {
    this.service = service
    this.#id = service + protocol.toLowerCase()
    this.#digest = digestOf(this.#id)
    this.cluster = chainName('KUBE-SVC-', this.#digest)
  }

  // Most Services have none of these three, so they are made when somebody asks.
  get local(): string {
    return chainName('KUBE-SVL-', this.#digest)
  }

  get external(): string {
    return chainName('KUBE-EXT-', this.#digest)
  }

  get firewall(): string {
    return chainName('KUBE-FW-', this.#digest)
  }

  spreading(policy: TrafficPolicy): string {
    return policy === 'Local' ? this.local : this.cluster
  }

  endpoint({ address }: Pick<Endpoint, 'address'>): string {
    const known = this.#chainsByAddress.get(address)
    if (known !== undefined) return known
    const chain = chainName('KUBE-SEP-', digestOf(this.#id + address))
    this.#chainsByAddress.set(address, chain)
    return chain
  }
}

/** Chains with these prefixes belong to some Service port, ours or an earlier process's. */
export function isServiceChain(name: string): boolean {
  return serviceChainPrefixes.some((prefix) => name.startsWith(prefix))
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.split('')
/** Two letters of base32 for each ten bits. */
const letterPairs = letters.flatMap((first) => letters.map((second) => first + second))

/**
 * The prefix and the first 16 characters of the base32 text of the SHA-256: 80 bits. Joined, because strings that are
 * added up stay in pieces, which are slow to sort and larger.
 */
function chainName(prefix: string, digest: string): string {
  const pieces = [prefix]
  for (let bit = 0; bit < 80; bit += 10) {
    const at = bit >> 3
    const twoBytes = (digest.charCodeAt(at) << 8) | digest.charCodeAt(at + 1)
    pieces.push(letterPairs[(twoBytes >> (6 - (bit & 7))) & 1023] ?? '')
  }
  return pieces.join('')
}

/** One character for each byte: there are tens of thousands in a large cluster, and a Buffer costs five times as much. */
function digestOf(text: string): string {
  return hash('sha256', text, 'binary')
}
