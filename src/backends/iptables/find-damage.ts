/** Compares what we wrote with what the kernel holds: all of it, or only the chains in question. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import type { ChainPath } from '../../dataplane/iptables/iptables.ts'
import { DamageReport } from './damage.ts'
import type { Damage } from './damage.ts'
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

/** With `only`, the state need not hold any other chain. */
export async function findDamage(
  written: Written,
  state: KernelState,
  only?: ReadonlySet<ChainPath>,
): Promise<Damage | undefined> {
  const { settings, routesByKey } = written
  const { family } = settings
  const report = new DamageReport()
  const isInQuestion = (table: Table, chain: string) => only === undefined || only.has(`${table}/${chain}`)
  const compare = (table: Table, chain: string, rules: () => readonly string[]) => {
    if (!isInQuestion(table, chain)) return
    const found = chainProblem(state, table, chain, rules)
    if (found !== undefined) report.addChain(`${table}/${chain}`, found)
  }

  for (const jump of missingJumps(state, family))
    if (isInQuestion(jump.table, jump.from))
      report.addJump(jump, `the jump from ${jump.table}/${jump.from} is missing: ${renderRule(jump.rule)}`)
  for (const { table, chain } of fixedChains(settings))
    compare(table, chain.name, () => chain.rules.map((rule) => canonicalRule(renderRule(rule), family)))
  for (const table of ['filter', 'nat'] as const) compare(table, topChains.canary, () => [])

  const shared = new SharedRules(sharedChains.filter(({ table, chain }) => isInQuestion(table, chain)))
  let compared = 0
  for (const { rendered } of routesByKey.values()) {
    if (++compared % batchSize === 0) {
      if (report.isTotal) return report.damageTo(state)
      await nextTurn()
    }
    for (const { table, chain, rule } of rendered.shared)
      if (isInQuestion(table, chain)) shared.add(table, chain, canonicalRule(rule, family))
    for (const chain of rendered.chains)
      compare('nat', chain.name, () => rulesOf(chain).map((rule) => canonicalRule(rule, family)))
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
  if (only === undefined) addLeftovers(written, state, report)
  return report.damageTo(state)
}

function chainProblem(
  state: KernelState,
  table: Table,
  chain: string,
  wanted: () => readonly string[],
): string | undefined {
  const actual = state[table].get(chain)
  if (actual === undefined) return `chain ${table}/${chain} is missing`
  const rules = wanted()
  const isSame = actual.length === rules.length && actual.every((rule, index) => rule === rules[index])
  return isSame ? undefined : `chain ${table}/${chain} was changed`
}

/** Rules for node ports come after all addresses: before them they would catch what is meant for a Service. */
function isTailMisplaced(tail: readonly string[], { nat }: KernelState): boolean {
  const last = nat.get(topChains.services)?.slice(-tail.length) ?? []
  return last.length > 0 && !tail.every((rule) => last.includes(rule))
}

/** A restore that a dying process had started may end after our own, and bring back chains of Services that are gone. */
function addLeftovers(written: Written, state: KernelState, report: DamageReport): void {
  for (const chain of staleChains(state, written))
    if (!chain.isHeld || (state.nat.get(chain.name) ?? []).length > 0) report.addStale(chain)
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
