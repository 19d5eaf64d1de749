/** Compares what we wrote with what the kernel holds: all of it, or only the chains in question. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import type { ChainPath } from '../../dataplane/iptables/iptables.ts'
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { rulesOf } from '../../dataplane/iptables/language/rendered-chain.ts'
import type { RenderedChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import { SharedRulesComparison } from '../../dataplane/iptables/language/shared-rules-comparison.ts'
import { digestOfRules } from '../../dataplane/iptables/rules-digest.ts'
import { nextTurn } from '../../dataplane/next-turn.ts'
import type { Family } from '../../net/ip.ts'
import { DamageReport } from './damage.ts'
import type { Damage } from './damage.ts'
import { fixedChains, nodePortTail } from './fixed-chains.ts'
import type { IptablesPlan } from './plan.ts'
import type { Ruleset } from './ruleset.ts'
import { staleChains } from './stale-chains.ts'
import { jumps, sharedChains } from './top-chains.ts'

/** Routes compared before others get a turn on the event loop. */
const batchSize = 200

/** With `only`, the state need not hold any other chain. */
export async function findDamage(
  plan: IptablesPlan,
  state: Ruleset,
  only?: ReadonlySet<ChainPath>,
): Promise<Damage | undefined> {
  const { settings, routesByKey } = plan
  const { family } = settings
  const report = new DamageReport()
  const isInQuestion = (table: Table, chain: string) => only === undefined || only.has(`${table}/${chain}`)
  const compare = (table: Table, chain: string, problemOf: () => string | undefined) => {
    const problem = isInQuestion(table, chain) ? problemOf() : undefined
    if (problem !== undefined) report.addChain(`${table}/${chain}`, `chain ${table}/${chain} ${problem}`)
  }

  for (const jump of missingJumps(state, family, jumps))
    if (isInQuestion(jump.table, jump.from))
      report.addJump(jump, `the jump from ${jump.table}/${jump.from} is missing: ${renderRule(jump.rule)}`)
  for (const { table, chain } of fixedChains(settings))
    compare(table, chain.name, () =>
      problemWithRules(
        state[table].get(chain.name),
        chain.rules.map((rule) => canonicalRule(renderRule(rule), family)),
      ),
    )
  for (const table of ['filter', 'nat'] as const)
    compare(table, topChains.canary, () => problemWithRules(state[table].get(topChains.canary), []))

  const shared = new SharedRulesComparison(sharedChains.filter(({ table, chain }) => isInQuestion(table, chain)))
  let compared = 0
  for (const { rendered } of routesByKey.values()) {
    if (++compared % batchSize === 0) {
      if (report.isTotal) return report.damageTo(state)
      await nextTurn()
    }
    for (const { table, chain, rule } of rendered.shared)
      if (isInQuestion(table, chain)) shared.add(table, chain, canonicalRule(rule, family))
    for (const chain of rendered.chains) compare('nat', chain.name, () => problemWithServiceChain(state, chain, family))
  }
  const tail = nodePortTail(settings).map((rule) => canonicalRule(renderRule(rule), family))
  if (isInQuestion('nat', topChains.services)) {
    for (const rule of tail) shared.add('nat', topChains.services, rule)
    if (isTailMisplaced(tail, state))
      report.addChain(
        `nat/${topChains.services}`,
        `the rules for node ports are not the last of nat/${topChains.services}`,
      )
  }
  for (const { table, chain, problem } of shared.problems(state))
    report.addChain(`${table}/${chain}`, `chain ${table}/${chain} ${problem}`)
  if (only === undefined) addLeftovers(plan, state, report)
  return report.damageTo(state)
}

function problemWithRules(actual: readonly string[] | undefined, wanted: readonly string[]): string | undefined {
  if (actual === undefined) return 'is missing'
  const isSame = actual.length === wanted.length && actual.every((rule, index) => rule === wanted[index])
  return isSame ? undefined : 'was changed'
}

function problemWithServiceChain(state: Ruleset, chain: RenderedChain, family: Family): string | undefined {
  const actual = state.serviceChains.get(chain.name)
  if (actual === undefined) return 'is missing'
  const wanted = digestOfRules(rulesOf(chain).map((rule) => canonicalRule(rule, family)))
  return actual.digest === wanted ? undefined : 'was changed'
}

/** Rules for node ports come after all addresses: before them they would catch what is meant for a Service. */
function isTailMisplaced(tail: readonly string[], { nat }: Ruleset): boolean {
  const last = nat.get(topChains.services)?.slice(-tail.length) ?? []
  return last.length > 0 && !tail.every((rule) => last.includes(rule))
}

/** A restore that a dying process had started may end after our own, and bring back chains of Services that are gone. */
function addLeftovers(plan: IptablesPlan, state: Ruleset, report: DamageReport): void {
  for (const chain of staleChains(state, plan))
    if (!chain.isHeld || state.serviceChains.get(chain.name)?.ruleCount !== 0) report.addStale(chain)
}
