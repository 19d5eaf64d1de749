/**
 * Leads the answers of pods back to the relay where it dialled from the client's own address. They are for the client,
 * so this node would forward them. A rule marks those that belong to a socket of the relay, and what is marked is
 * delivered here.
 */
import { canonicalRule } from '../../../dataplane/iptables/canonical-rule.ts'
import { ruleWords } from '../../../dataplane/iptables/rule-quoting.ts'
import type { DeliveryNumbers } from '../../../dataplane/marked-delivery/marked-delivery.ts'
import type { Family } from '../../../net/ip.ts'
import type { RulesByChain } from '../../../dataplane/iptables/save-text.ts'
import { renderRule } from '../../../dataplane/iptables/language/render-rule.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { comment, jump } from '../../../dataplane/iptables/language/rule.ts'
import { portalChains } from './chains.ts'

/** Fixed, so that `--cleanup` and people find them. */
export const answerDelivery: DeliveryNumbers = {
  /**
   * A bit that nobody is known to use. Neighbours: 0x2000 is CNI's portmap, 0x4000 and 0x8000 are of kube-proxy and the
   * kubelet, 0x0f00 of Cilium, 0x0080 of the AWS plugin, 0xffff0000 of Calico.
   */
  mark: 0x1000,
  /** The same number, so that one leads to the other. */
  table: 0x1000,
  /** Before the rules by which network plugins choose a table for an address; those of AWS begin at 512. */
  priority: 90,
}

const answersJump = renderRule({
  matches: [comment('kubernetes service portals: answers of pods to clients')],
  target: jump(portalChains.answers),
})
const answerRule = renderRule({
  matches: [{ kind: 'transparent-socket' }],
  target: { kind: 'set-mark', mark: hex(answerDelivery.mark) },
})
const place = { table: 'mangle', from: 'PREROUTING' } as const

/** What they are about, in the mangle table. */
export const answerChains: readonly string[] = [place.from, portalChains.answers]

/** Puts the rule there; the jump comes first in its chain, unless nothing before it can take packets away from it. */
export function writeAnswerRules(mangle: RulesByChain, family: Family, input: RestoreInput): void {
  input.declare(place.table, portalChains.answers)
  input.append(place.table, portalChains.answers, answerRule)
  const jumps = jumpsIn(mangle, family)
  if (jumps > 0 && obstacle(mangle, family) === undefined) return
  for (let left = jumps; left > 0; left--) input.delete(place.table, place.from, answersJump)
  input.insertJump(place.table, place.from, answersJump)
}

/** Undefined when there is nothing to remove. */
export function removalOfAnswerRules(mangle: RulesByChain, family: Family): RestoreInput | undefined {
  const input = new RestoreInput()
  for (let left = jumpsIn(mangle, family); left > 0; left--) input.delete(place.table, place.from, answersJump)
  if (mangle.has(portalChains.answers)) input.deleteChain(place.table, portalChains.answers)
  return input.isEmpty ? undefined : input
}

/** What is wrong with the rules; undefined when they are as written. */
export function findAnswerDrift(mangle: RulesByChain, family: Family): string | undefined {
  if (jumpsIn(mangle, family) === 0) return `the jump from ${place.table}/${place.from} is missing`
  const before = obstacle(mangle, family)
  if (before !== undefined) return `in ${place.table}/${place.from}, "${before}" comes before our jump`
  const rules = mangle.get(portalChains.answers) ?? []
  const isAsWritten = rules.length === 1 && rules[0] === canonicalRule(answerRule, family)
  return isAsWritten ? undefined : `chain ${place.table}/${portalChains.answers} was changed`
}

/**
 * The first rule of somebody else before our jump (or anywhere, if ours is missing) that may accept answers, so that
 * our mark never sees them.
 */
export function obstacle(mangle: RulesByChain, family: Family): string | undefined {
  const rules = mangle.get(place.from) ?? []
  const ours = rules.indexOf(canonicalRule(answersJump, family))
  return rules.slice(0, ours === -1 ? undefined : ours).find(mayTakeAway)
}

/** Calico's agent puts its jump first again whenever it is not, and what it leads to accepts all known connections. */
export function isPutFirstAgain(rule: string): boolean {
  return targetOf(rule)?.startsWith('cali-') === true
}

/** The routing that belongs to the rules, as commands. */
export function renderDelivery(family: Family): string {
  const { mark, table, priority } = answerDelivery
  const ip = family === 'ipv4' ? 'ip -4' : 'ip -6'
  const marked = `fwmark ${hex(mark)}/${hex(mark)}`
  return [
    `# ${ip} rule add priority ${priority + 1} ${marked} nop`,
    `# ${ip} rule add priority ${priority - 1} iif lo ${marked} goto ${priority + 1}`,
    `# ${ip} rule add priority ${priority} ${marked} lookup ${table}`,
    `# ${ip} route add local default dev lo table ${table}`,
    '',
  ].join('\n')
}

/** After these a packet goes on to the next rule. Any other target may end its way, and so may a chain of somebody. */
const passingTargets: ReadonlySet<string> = new Set(
  'AUDIT CHECKSUM CLASSIFY CONNMARK CONNSECMARK DSCP ECN HL HMARK LOG MARK NFLOG SECMARK SET TCPMSS TOS TRACE TTL'.split(
    ' ',
  ),
)

function mayTakeAway(rule: string): boolean {
  const target = targetOf(rule)
  return target !== undefined && !passingTargets.has(target)
}

/** Undefined: the rule only counts. */
function targetOf(rule: string): string | undefined {
  const words = ruleWords(rule)
  const at = words.findIndex((word) => word === '-j' || word === '-g')
  return at === -1 ? undefined : words[at + 1]
}

function jumpsIn(mangle: RulesByChain, family: Family): number {
  const wanted = canonicalRule(answersJump, family)
  return (mangle.get(place.from) ?? []).filter((rule) => rule === wanted).length
}

function hex(number: number): string {
  return `0x${number.toString(16)}`
}
