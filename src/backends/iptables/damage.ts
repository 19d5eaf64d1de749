/** What differs between the kernel and what we wrote: enough to put it back without touching the rest. */
import type { ChainPath } from '../../dataplane/iptables/iptables.ts'
import type { Ruleset } from './ruleset.ts'
import type { StaleChain } from './stale-chains.ts'
import type { Jump } from '../../dataplane/iptables/language/kube-chains.ts'

export interface Damage {
  /** The first thing that was found, for people. */
  readonly found: string
  /** Jumps of ours that are missing. */
  readonly jumps: readonly Jump[]
  /** Chains of ours that differ or are missing. */
  readonly chains: ReadonlySet<ChainPath>
  readonly stale: readonly StaleChain[]
  /** What the kernel holds, as far as it was read. */
  readonly state: Ruleset | undefined
  /** There is more than this says, so only writing everything repairs it. */
  readonly isTotal: boolean
}

/** When it is not known what differs. */
export function totalDamage(found: string): Damage {
  return { found, jumps: [], chains: new Set(), stale: [], state: undefined, isTotal: true }
}

/** Beyond this many chains, writing everything costs less than finding out what to leave alone. */
const mostChains = 300

export class DamageReport {
  #found: string | undefined
  readonly #jumps: Jump[] = []
  readonly #chains = new Set<ChainPath>()
  readonly #stale: StaleChain[] = []

  addJump(jump: Jump, found: string): void {
    this.#found ??= found
    this.#jumps.push(jump)
  }

  addChain(path: ChainPath, found: string): void {
    this.#found ??= found
    this.#chains.add(path)
  }

  addStale(chain: StaleChain): void {
    this.#found ??= `chain nat/${chain.name} belongs to no Service`
    this.#stale.push(chain)
  }

  /** So much that looking further makes no difference. */
  get isTotal(): boolean {
    return this.#chains.size + this.#stale.length > mostChains
  }

  damageTo(state: Ruleset): Damage | undefined {
    if (this.#found === undefined) return undefined
    return {
      found: this.#found,
      jumps: this.#jumps,
      chains: this.#chains,
      stale: this.#stale,
      state,
      isTotal: this.isTotal,
    }
  }
}
