/** Decides what a clean-up removes, from the output of `iptables-save`. */
import type { Table } from '../iptables.ts'
import { ruleWords } from '../rule-quoting.ts'
import type { SummaryByChain } from '../save-reader.ts'
import type { RulesByChain } from '../save-text.ts'
import type { Family } from '../../../net/ip.ts'
import type { FindOwnChain } from './own-chain.ts'
import { topChains } from '../language/kube-chains.ts'

export interface IptablesCleanup {
  /** Rules to remove from chains that stay. */
  readonly jumps: readonly LeftoverJump[]
  readonly chains: readonly LeftoverChain[]
  /** The rules that are left afterwards. */
  readonly staying: readonly PlacedRule[]
}

interface PlacedRule {
  readonly table: Table
  readonly chain: string
  /** As printed by iptables-save, without `-A CHAIN `. */
  readonly rule: string
}

interface LeftoverJump extends PlacedRule {
  readonly target: string
  readonly reason: string
}

export interface LeftoverChain {
  readonly table: Table
  readonly chain: string
  readonly ruleCount: number
  readonly reason: string
  /** Rules of other programs that jump here. The kernel keeps the chain while there is one, so it can only be emptied. */
  readonly heldBy: readonly PlacedRule[]
}

/** In the order of a clean-up. */
export const cleanupTables: readonly Table[] = ['mangle', 'filter', 'nat']

export const kernelChains: ReadonlySet<string> = new Set(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'])

/** Only the kubelet makes them. */
const kubeletChains: ReadonlySet<string> = new Set(['KUBE-KUBELET-CANARY', 'KUBE-IPTABLES-HINT'])

interface Saved {
  readonly rules: ReadonlyMap<string, RulesByChain>
  /** For chains whose name shows that a proxy made them. */
  readonly summaries?: ReadonlyMap<string, SummaryByChain>
}

export function planCleanup({ rules, summaries }: Saved, family: Family, findOwn: FindOwnChain): IptablesCleanup {
  const hasKubelet = cleanupTables.some((table) =>
    [...(rules.get(table)?.keys() ?? [])].some((c) => kubeletChains.has(c)),
  )
  const parts = cleanupTables.map((table) =>
    planTable(table, rules.get(table) ?? new Map(), summaries?.get(table) ?? new Map(), {
      family,
      hasKubelet,
      findOwn,
    }),
  )
  return {
    jumps: parts.flatMap(({ jumps }) => jumps),
    chains: parts.flatMap(({ chains }) => chains),
    staying: parts.flatMap(({ staying }) => staying),
  }
}

function planTable(
  table: Table,
  saved: RulesByChain,
  summaries: SummaryByChain,
  node: { readonly family: Family; readonly hasKubelet: boolean; readonly findOwn: FindOwnChain },
): IptablesCleanup {
  const { findOwn } = node
  const reasons = new Map<string, string>()
  for (const [chain, rules] of saved) {
    const reason = findOwn(table, chain)?.reason ?? sharedChainReason({ table, chain, rules, ...node })
    if (reason !== undefined) reasons.set(chain, reason)
  }
  for (const chain of summaries.keys()) {
    const reason = findOwn(table, chain)?.reason
    if (reason !== undefined) reasons.set(chain, reason)
  }
  const jumps: LeftoverJump[] = []
  const staying: PlacedRule[] = []
  const holders = new Map<string, PlacedRule[]>()
  for (const [chain, rules] of saved) {
    if (reasons.has(chain)) continue
    for (const rule of rules) {
      const target = jumpTarget(rule, reasons)
      if (target !== undefined && isProxyJump({ table, chain, rule }, target, findOwn))
        jumps.push({ table, chain, rule, target, reason: jumpReason(target) })
      else {
        staying.push({ table, chain, rule })
        if (target !== undefined) holders.set(target, [...(holders.get(target) ?? []), { table, chain, rule }])
      }
    }
  }
  const chains = [...reasons].map(([chain, reason]) => ({
    table,
    chain,
    ruleCount: saved.get(chain)?.length ?? summaries.get(chain)?.ruleCount ?? 0,
    reason,
    heldBy: holders.get(chain) ?? [],
  }))
  return { jumps, chains, staying }
}

interface SharedChain {
  readonly table: Table
  readonly chain: string
  readonly rules: readonly string[]
  readonly family: Family
  readonly hasKubelet: boolean
}

/** Chains that the kubelet makes too, so that their name alone does not show who made them. */
function sharedChainReason({ table, chain, rules, family, hasKubelet }: SharedChain): string | undefined {
  if (table === 'filter' && chain === topChains.firewall) {
    if (!hasKubelet) return 'shared with the kubelet, but no kubelet runs here'
    // No kubelet makes it without rules in IPv6: a current one does not make it there, older ones add a rule.
    return family === 'ipv6' && rules.length === 0
      ? 'made by a proxy: a chain of the kubelet has rules, this one is empty'
      : undefined
  }
  if (table === 'nat' && chain === 'KUBE-MARK-DROP' && !hasKubelet)
    return rules.every((rule) => /^-j MARK --set-xmark (0x[0-9a-f]+)\/\1$/.test(rule))
      ? 'marks packets to drop, as kube-proxy did until 1.27'
      : undefined
  return undefined
}

function jumpTarget(rule: string, ours: ReadonlyMap<string, unknown>): string | undefined {
  // A quick check first: most other rules name none of our chains, and splitting quoted words is slower.
  if (!rule.split(' ').some((word) => ours.has(word))) return undefined
  const words = ruleWords(rule)
  const at = words.findIndex((word, i) => (word === '-j' || word === '-g') && words[i - 1] !== '--comment')
  const target = words[at + 1]
  return at >= 0 && target !== undefined && ours.has(target) ? target : undefined
}

function jumpReason(target: string): string {
  return target === topChains.firewall ? `goes with ${target}` : 'has the comment of a proxy'
}

/** The other matches of a proxy's jumps, which depend on mode and release. */
const proxyConditions: ReadonlySet<string> = new Set(['', '-m conntrack --ctstate NEW', '-m addrtype --dst-type LOCAL'])

function isProxyJump({ table, chain, rule }: PlacedRule, target: string, findOwn: FindOwnChain): boolean {
  if (!kernelChains.has(chain)) return false
  if (table === 'filter' && target === topChains.firewall) return rule === `-j ${target}`
  const words = ruleWords(rule)
  const at = words.indexOf('--comment')
  const comment = words[at + 1]
  if (at < 2 || comment === undefined) return false
  if (findOwn(table, target)?.jumpComments?.includes(comment) !== true) return false
  const [jump, to] = words.splice(-2)
  words.splice(at - 2, 4)
  return jump === '-j' && to === target && proxyConditions.has(words.join(' '))
}
