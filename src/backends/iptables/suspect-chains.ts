/** Chains of ours that may have changed, and must be compared before all is known to be well. */
import type { ChainPath } from '../../dataplane/iptables/iptables.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { ChangedChains } from '../../dataplane/iptables/chain-changes.ts'
import { isServiceChain } from './chain-names.ts'
import type { IptablesPlan } from './plan.ts'
import { jumps, sharedChains } from './top-chains.ts'

export class SuspectChains {
  readonly #paths = new Set<ChainPath>()
  #areAll = true

  /** It is not known which chains changed, so everything must be compared. */
  get areAll(): boolean {
    return this.#areAll
  }

  get paths(): ReadonlySet<ChainPath> {
    return this.#paths
  }

  get isEmpty(): boolean {
    return !this.#areAll && this.#paths.size === 0
  }

  /** Answers whether there was anything about us in it. */
  add(changes: ChangedChains): boolean {
    if (changes === 'any') {
      this.#areAll = true
      return true
    }
    let isNew = false
    for (const path of changes)
      if (concernsUs(path)) {
        this.#paths.add(path)
        isNew = true
      }
    return isNew
  }

  addAll(): void {
    this.#areAll = true
  }

  clear(): void {
    this.#paths.clear()
    this.#areAll = false
  }
}

/** Chains that do not belong to one Service alone, and the kernel's chains that lead to them. */
export const topPaths: ReadonlySet<ChainPath> = new Set<ChainPath>([
  ...jumps.map(({ table, from }) => `${table}/${from}` as const),
  ...sharedChains.map(({ table, chain }) => `${table}/${chain}` as const),
  `filter/${topChains.forward}`,
  `filter/${topChains.firewall}`,
  `filter/${topChains.canary}`,
  `nat/${topChains.postrouting}`,
  `nat/${topChains.markMasquerade}`,
  `nat/${topChains.canary}`,
])

/** A chain that is named like that of a Service, but belongs to none that we wrote. */
export function hasUnknownChain(paths: ReadonlySet<ChainPath>, { routesByKey }: IptablesPlan): boolean {
  const unknown = new Set([...paths].filter((path) => !topPaths.has(path)))
  if (unknown.size > 0)
    for (const { rendered } of routesByKey.values())
      for (const { name } of rendered.chains) unknown.delete(`nat/${name}`)
  return unknown.size > 0
}

function concernsUs(path: ChainPath): boolean {
  return topPaths.has(path) || (path.startsWith('nat/') && isServiceChain(path.slice('nat/'.length)))
}
