/** The names of a Service port's chains: the same hashes as kube-proxy's, so that each takes over from the other. */
import { hash } from 'node:crypto'
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
  const letters = hashLetters(id)
  const chainsByAddress = new Map<string, string>()
  return {
    cluster: chainName('KUBE-SVC-', letters),
    local: chainName('KUBE-SVL-', letters),
    external: chainName('KUBE-EXT-', letters),
    firewall: chainName('KUBE-FW-', letters),
    endpoint({ address }) {
      const known = chainsByAddress.get(address)
      if (known !== undefined) return known
      const chain = chainName('KUBE-SEP-', hashLetters(id + address))
      chainsByAddress.set(address, chain)
      return chain
    },
  }
}

/** Chains with these prefixes belong to some Service port, ours or an earlier process's. */
export const serviceChainPrefixes = ['KUBE-SVC-', 'KUBE-SVL-', 'KUBE-SEP-', 'KUBE-FW-', 'KUBE-EXT-'] as const

export function isServiceChain(name: string): boolean {
  return serviceChainPrefixes.some((prefix) => name.startsWith(prefix))
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The first 16 characters of the base32 text of the SHA-256: 80 bits. */
function hashLetters(text: string): readonly number[] {
  // There are tens of thousands of these in a large cluster. This way to the bytes costs a fifth of a Buffer.
  const digest = hash('sha256', text, 'binary')
  const letters: number[] = []
  for (let bit = 0; bit < 80; bit += 5) {
    const at = bit >> 3
    const twoBytes = (digest.charCodeAt(at) << 8) | digest.charCodeAt(at + 1)
    letters.push(alphabet.charCodeAt((twoBytes >> (11 - (bit & 7))) & 31))
  }
  return letters
}

/** Made of all characters at once: strings that are put together stay in pieces, which are slow to sort and larger. */
function chainName(prefix: string, letters: readonly number[]): string {
  const characters: number[] = []
  for (let at = 0; at < prefix.length; at++) characters.push(prefix.charCodeAt(at))
  return String.fromCharCode(...characters, ...letters)
}
