/**
 * The chains by which a proxy is known. Each list is closed on purpose: others name their chains KUBE-something too (the
 * kubelet, kube-router, network plugins), and those are theirs.
 */
import type { Table } from '../iptables.ts'

/** A chain that only a proxy makes. */
export interface OwnChain {
  /** A pattern must match the whole name. */
  readonly name: string | RegExp
  readonly tables: readonly Table[]
  /** How we know that it is a proxy's. */
  readonly reason: string
  /** The comments of the jumps that lead to it from the kernel's chains, of all releases. */
  readonly jumpComments?: readonly string[]
}

/** Undefined when the chain is not one of those, or when it takes more than the name to tell. */
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
