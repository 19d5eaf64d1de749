/** What a full sync must know about the kernel: which chains there are, and which of our jumps are missing. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import type { ChainPath, Iptables } from '../../dataplane/iptables/iptables.ts'
import { parseSaveInTurns } from '../../dataplane/iptables/save-text.ts'
import type { RulesByChain } from '../../dataplane/iptables/save-text.ts'
import type { Family } from '../../net/ip.ts'
import { isServiceChain } from './chain-names.ts'
import { renderRule } from './render-rule.ts'
import type { Jump } from './top-chains.ts'
import { jumps, topChains } from './top-chains.ts'
import type { Written } from './written.ts'

export interface KernelState {
  readonly filter: RulesByChain
  readonly nat: RulesByChain
  /** Only the userspace mode has something there. */
  readonly mangle?: RulesByChain
}

export async function readKernelState(iptables: Iptables, signal: AbortSignal): Promise<KernelState> {
  const tables = await parseSaveInTurns(await iptables.saveAll(signal))
  const of = (table: string) => tables.get(table) ?? new Map()
  return { filter: of('filter'), nat: of('nat'), mangle: of('mangle') }
}

/** In the order to insert them. One that is there stays where it is: an operator may have put a rule above it. */
export function missingJumps(
  state: KernelState,
  family: Family,
  wantedJumps: readonly Jump[] = jumps,
): readonly Jump[] {
  return wantedJumps.filter(({ table, from, rule }) => {
    const wanted = canonicalRule(renderRule(rule), family)
    return state[table].get(from)?.includes(wanted) !== true
  })
}

export interface StaleChain {
  readonly name: string
  /** A rule of somebody else jumps to it. The kernel keeps such a chain, so it can only be emptied. */
  readonly isHeld: boolean
}

/** Chains of Services that nobody wants any more, also those that an earlier process left behind. */
export function staleChains({ nat }: KernelState, plan: Written): readonly StaleChain[] {
  const stale = new Set([...nat.keys()].filter(isServiceChain))
  if (stale.size === 0) return []
  for (const { rendered } of plan.routesByKey.values()) for (const { name } of rendered.chains) stale.delete(name)
  const held = targetsOfOthers(nat)
  return [...stale].map((name) => ({ name, isHeld: held.has(name) }))
}

/** Where rules outside of our own chains jump to. */
function targetsOfOthers(nat: RulesByChain): ReadonlySet<string> {
  const targets = new Set<string>()
  for (const [chain, rules] of nat) {
    if (isServiceChain(chain) || ownNatChains.has(chain)) continue
    for (const rule of rules) {
      const target = / -[jg] (\S+)$/.exec(` ${rule}`)?.[1]
      if (target !== undefined) targets.add(target)
    }
  }
  return targets
}

const ownNatChains: ReadonlySet<string> = new Set(Object.values(topChains))

/** Only these chains; those that are not there are missing in the result, too. */
export async function readChains(
  iptables: Iptables,
  paths: Iterable<ChainPath>,
  signal: AbortSignal,
): Promise<KernelState> {
  const state = { filter: new Map<string, readonly string[]>(), nat: new Map<string, readonly string[]>() }
  const left = [...paths]
  const readOn = async (): Promise<void> => {
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      const [table = '', chain = ''] = path.split('/')
      if (table !== 'filter' && table !== 'nat') continue
      const rules = await iptables.chainRules(table, chain, signal)
      if (rules !== undefined) state[table].set(chain, rules)
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, readOn))
  return state
}

/** Most of the time that a small tool takes goes into its start. */
const readsAtOnce = 4
