/**
 * The chains that only proxies make. The lists name each chain, and do not match all of KUBE-*: the kubelet, kube-router
 * and network plugins have such names, too.
 */
import type { Table } from '../iptables.ts'

export interface OwnChain {
  /** A pattern must match the whole name. */
  readonly name: string | RegExp
  readonly tables: readonly Table[]
  /** How we know that a proxy made it. */
  readonly reason: string
  /** The comments of the jumps from the built-in chains to it, in all releases. */
  readonly jumpComments?: readonly string[]
  /** See `Leftover`. */
  readonly carriesOpen?: boolean
}

/** Returns nothing for other chains, and for those whose name alone does not show who made them. */
export type FindOwnChain = (table: string, chain: string) => OwnChain | undefined

export function ownChainFinder(chains: readonly OwnChain[]): FindOwnChain {
  const named = new Map<string, OwnChain>()
  const patterns: { readonly pattern: RegExp; readonly own: OwnChain }[] = []
  for (const own of chains)
    if (typeof own.name !== 'string') patterns.push({ pattern: own.name, own })
    else for (const table of own.tables) named.set(`${table} ${own.name}`, own)
  return (table, chain) =>
    named.get(`${table} ${chain}`) ??
    patterns.find(({ pattern, own }) => own.tables.some((name) => name === table) && pattern.test(chain))?.own
}
