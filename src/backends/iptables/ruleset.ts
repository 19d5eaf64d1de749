/** What the kernel holds, as far as this mode must know it. */
import type { ChainPath, Iptables } from '../../dataplane/iptables/iptables.ts'
import { digestOfRules } from '../../dataplane/iptables/rules-digest.ts'
import { SaveReader } from '../../dataplane/iptables/save-reader.ts'
import type { ChainSummary, SummaryByChain } from '../../dataplane/iptables/save-reader.ts'
import { isServiceChain } from './chain-names.ts'
import type { KernelState } from '../../dataplane/iptables/language/kernel-state.ts'

/** Its `nat` is without the chains of Services. */
export interface Ruleset extends KernelState {
  /** There are tens of thousands, with tens of megabytes of rules, and all we want to know is whether they are ours. */
  readonly serviceChains: SummaryByChain
}

export const emptyRuleset: Ruleset = { filter: new Map(), nat: new Map(), serviceChains: new Map() }

export async function readRuleset(iptables: Iptables, signal: AbortSignal): Promise<Ruleset> {
  const reader = new SaveReader({ isSummaryEnough: isOfService })
  await iptables.readAll((piece) => reader.add(piece), signal)
  const { rules, summaries } = reader.end()
  return {
    filter: rules.get('filter') ?? new Map(),
    nat: rules.get('nat') ?? new Map(),
    serviceChains: summaries.get('nat') ?? new Map(),
  }
}

/** Only these chains; those that are not there are missing in the result, too. */
export async function readChains(
  iptables: Iptables,
  paths: Iterable<ChainPath>,
  signal: AbortSignal,
): Promise<Ruleset> {
  const filter = new Map<string, readonly string[]>()
  const nat = new Map<string, readonly string[]>()
  const serviceChains = new Map<string, ChainSummary>()
  const left = [...paths]
  const readOn = async (): Promise<void> => {
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      const [table = '', chain = ''] = path.split('/')
      if (table !== 'filter' && table !== 'nat') continue
      const rules = await iptables.chainRules(table, chain, signal)
      if (rules === undefined) continue
      if (isOfService(table, chain)) serviceChains.set(chain, { ruleCount: rules.length, digest: digestOfRules(rules) })
      else (table === 'nat' ? nat : filter).set(chain, rules)
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, readOn))
  return { filter, nat, serviceChains }
}

/** Most of the time that a small tool takes goes into its start. */
const readsAtOnce = 4

function isOfService(table: string, chain: string): boolean {
  return table === 'nat' && isServiceChain(chain)
}
