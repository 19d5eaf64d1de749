/** Compares what we wrote with what the kernel holds, and names the first thing that differs. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import type { RulesByChain } from '../../dataplane/iptables/save-text.ts'
import { fixedChains, nodePortTail } from './fixed-chains.ts'
import { missingJumps, staleChains } from './kernel-state.ts'
import type { KernelState } from './kernel-state.ts'
import { renderRule } from './render-rule.ts'
import { SharedRules } from './shared-rules-comparison.ts'
import { rulesOf } from './rendered-chain.ts'
import { sharedChains, topChains } from './top-chains.ts'
import type { Table } from './top-chains.ts'
import type { Written } from './written.ts'

/** Routes compared before others get a turn on the event loop. */
const batchSize = 200

export async function findDrift(written: Written, state: KernelState): Promise<string | undefined> {
  const { settings, routesByKey } = written
  const { family } = settings
  const [jump] = missingJumps(state, family)
  if (jump !== undefined) return `the jump from ${jump.table}/${jump.from} is missing: ${renderRule(jump.rule)}`
  for (const { table, chain } of fixedChains(settings)) {
    const rules = chain.rules.map((rule) => canonicalRule(renderRule(rule), family))
    const problem = compareChain(state[table], table, chain.name, rules)
    if (problem !== undefined) return problem
  }
  const shared = new SharedRules(sharedChains)
  for (const rule of nodePortTail(settings))
    shared.add('nat', topChains.services, canonicalRule(renderRule(rule), family))
  let compared = 0
  for (const { rendered } of routesByKey.values()) {
    if (++compared % batchSize === 0) await nextTurn()
    for (const { table, chain, rule } of rendered.shared) shared.add(table, chain, canonicalRule(rule, family))
    for (const chain of rendered.chains) {
      const wanted = rulesOf(chain).map((rule) => canonicalRule(rule, family))
      const problem = compareChain(state.nat, 'nat', chain.name, wanted)
      if (problem !== undefined) return problem
    }
  }
  return shared.compare(state) ?? misplacedTail(written, state) ?? leftoverChain(written, state) ?? missingCanary(state)
}

/** Rules for node ports come after all addresses: before them they would catch what is meant for a Service. */
function misplacedTail({ settings }: Written, { nat }: KernelState): string | undefined {
  const tail = nodePortTail(settings).map((rule) => canonicalRule(renderRule(rule), settings.family))
  const last = nat.get(topChains.services)?.slice(-tail.length) ?? []
  const isLast = tail.every((rule) => last.includes(rule))
  return isLast ? undefined : `the rules for node ports are not the last of nat/${topChains.services}`
}

/** A restore that a dying process had started may end after our own, and bring back chains of Services that are gone. */
function leftoverChain(written: Written, state: KernelState): string | undefined {
  const leftover = staleChains(state, written).find(
    ({ name, isHeld }) => !isHeld || (state.nat.get(name) ?? []).length > 0,
  )
  return leftover === undefined ? undefined : `chain nat/${leftover.name} belongs to no Service`
}

function missingCanary(state: KernelState): string | undefined {
  const table = (['filter', 'nat'] as const).find((name) => !state[name].has(topChains.canary))
  return table === undefined ? undefined : `chain ${table}/${topChains.canary} is missing`
}

function compareChain(
  actual: RulesByChain,
  table: Table,
  chain: string,
  wanted: readonly string[],
): string | undefined {
  const rules = actual.get(chain)
  if (rules === undefined) return `chain ${table}/${chain} is missing`
  const isSame = rules.length === wanted.length && rules.every((rule, index) => rule === wanted[index])
  return isSame ? undefined : `chain ${table}/${chain} was changed`
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
