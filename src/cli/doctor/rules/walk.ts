/**
 * Sends the first packet of a connection through one chain, without sending it. Much about the packet is open (who sends
 * it, through which device), so an answer is certain, or only possible.
 */
import { familyOf, ipToBigInt } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import type { Condition, HookedChain, Rule } from './rule.ts'

export interface Packet {
  readonly ip: string
  /** In lower case, as the tools have it. */
  readonly protocol: string
  /** Undefined: not known. */
  readonly port: number | undefined
  /** The address is one of this node's. */
  readonly isLocal: boolean
  /** A proxy has translated its destination already. */
  readonly isTranslated: boolean
}

export interface Hit {
  readonly kind: 'drop' | 'reject' | 'translate' | 'untrack'
  /** The rule, or the policy of the chain. */
  readonly rule: string
  /** It hits every such packet, whoever sends it. */
  readonly isCertain: boolean
  /** A rule on the way named the destination: it is not just a rule about somebody's source address. */
  readonly isAboutDestination: boolean
  readonly isPolicy: boolean
}

/** What keeps the packet from going on as it is, in the order of the rules. */
export function walk(hooked: HookedChain, packet: Packet): readonly Hit[] {
  const hits: Hit[] = []
  const address = { family: familyOf(packet.ip), ip: ipToBigInt(packet.ip) }
  const state: Walking = { hooked, packet, address, hits, isOpen: false }
  const end = walkChain(state, hooked.chain, { isCertain: true, isAboutDestination: false, depth: 0 })
  if (end === 'go-on' && hooked.policy === 'drop')
    hits.push({
      kind: 'drop',
      rule: 'policy drop',
      isCertain: !state.isOpen,
      isAboutDestination: false,
      isPolicy: true,
    })
  return hits
}

interface Walking {
  readonly hooked: HookedChain
  readonly packet: Packet
  /** Parsed once: what a proxy has left may be 10,000 rules. */
  readonly address: Address
  readonly hits: Hit[]
  /** A rule may have accepted it already: nothing that follows is certain. */
  isOpen: boolean
}

interface Address {
  readonly family: Family
  readonly ip: bigint
}

interface Way {
  readonly isCertain: boolean
  readonly isAboutDestination: boolean
  readonly depth: number
}

/** Chains of real firewalls are less deep; and one that jumps in a circle must not hang us. */
const maxDepth = 32

function walkChain(walking: Walking, chain: string, way: Way): 'end' | 'go-on' {
  if (way.depth > maxDepth) return 'go-on'
  let isCertain = way.isCertain
  for (const rule of walking.hooked.rulesByChain.get(chain) ?? []) {
    const matches = matchOf(rule, walking)
    if (matches === 'no') continue
    const isSure = isCertain && matches === 'yes'
    const isAboutDestination = way.isAboutDestination || rule.conditions.some(namesDestination)
    const { verdict } = rule
    switch (verdict.kind) {
      case 'continue':
        break
      case 'accept':
      case 'ours':
        if (isSure) return 'end'
        walking.isOpen = true
        break
      case 'drop':
      case 'reject':
      case 'translate':
      case 'untrack': {
        const sure = isSure && !walking.isOpen
        walking.hits.push({ kind: verdict.kind, rule: rule.text, isCertain: sure, isAboutDestination, isPolicy: false })
        if (isSure) return 'end'
        break
      }
      case 'return':
        if (isSure) return 'go-on'
        isCertain = false
        break
      case 'jump':
      case 'goto': {
        const end = walkChain(walking, verdict.chain, { isCertain: isSure, isAboutDestination, depth: way.depth + 1 })
        if (end === 'end') return 'end'
        if (verdict.kind === 'goto' && isSure) return 'go-on'
        break
      }
      default:
        verdict satisfies never
    }
  }
  return 'go-on'
}

function namesDestination(condition: Condition): boolean {
  return (condition.kind === 'destination' || condition.kind === 'port') && !condition.isNegated
}

type Match = 'yes' | 'no' | 'maybe'

function matchOf({ conditions }: Rule, { packet, address }: Walking): Match {
  let match: Match = 'yes'
  for (const condition of conditions) {
    const one = holds(condition, packet, address)
    if (one === 'no') return 'no'
    if (one === 'maybe') match = 'maybe'
  }
  return match
}

function holds(condition: Condition, packet: Packet, { family, ip }: Address): Match {
  switch (condition.kind) {
    case 'unknown':
      return 'maybe'
    case 'family':
      return yesIf(family === condition.family)
    case 'destination':
      return negated(
        condition,
        condition.ranges.some((range) => range.family === family && range.first <= ip && ip <= range.last),
      )
    case 'local-destination':
      return negated(condition, packet.isLocal)
    case 'protocol':
      return negated(condition, condition.names.includes(packet.protocol))
    case 'port': {
      const { port } = packet
      if (port === undefined) return 'maybe'
      return negated(
        condition,
        condition.ranges.some(([first, last]) => first <= port && port <= last),
      )
    }
    case 'state':
      return negated(condition, condition.names.includes('new'))
    case 'translated':
      return negated(condition, packet.isTranslated)
    case 'loopback-device':
      // What comes through loopback is the node's own; everybody else's does not.
      return condition.isNegated ? 'maybe' : 'no'
    default:
      return condition satisfies never
  }
}

function negated({ isNegated }: { readonly isNegated: boolean }, isSo: boolean): Match {
  return yesIf(isSo !== isNegated)
}

function yesIf(isSo: boolean): Match {
  return isSo ? 'yes' : 'no'
}
