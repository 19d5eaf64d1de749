/** Chains of ours that may have changed, and must be compared before all is known to be well. */
import type { ChainPath } from '../../dataplane/iptables/iptables.ts'
import type { News } from '../../dataplane/iptables/table-news.ts'
import { isServiceChain } from './chain-names.ts'
import type { IptablesPlan } from './plan.ts'
import { jumps, sharedChains } from './top-chains.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'

export class Suspects {
  readonly #chains = new Set<ChainPath>()
  #isEveryone = true

  /** Nobody knows which chains: everything must be compared. */
  get isEveryone(): boolean {
    return this.#isEveryone
  }

  get chains(): ReadonlySet<ChainPath> {
    return this.#chains
  }

  get isEmpty(): boolean {
    return !this.#isEveryone && this.#chains.size === 0
  }

  /** Whether there was anything about us in it. */
  add(news: News): boolean {
    if (news === 'any') {
      this.#isEveryone = true
      return true
    }
    let isNew = false
    for (const path of news)
      if (concernsUs(path)) {
        this.#chains.add(path)
        isNew = true
      }
    return isNew
  }

  addEveryone(): void {
    this.#isEveryone = true
  }

  clear(): void {
    this.#chains.clear()
    this.#isEveryone = false
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
