/** What one rule does with a packet. */
import { cidrContains } from '../../../net/ip.ts'
import { allBut, oneIn, times } from './fraction.ts'
import type { Fraction } from './fraction.ts'
import { parseTarget, parseVerdict } from './kernel-rule.ts'
import type { Field, KernelRule, Match, Target, Verdict } from './kernel-rule.ts'
import { isLocalAddress } from './packet.ts'
import type { Packet, PacketNode } from './packet.ts'
import type { KernelSet, Ruleset, Tally } from './ruleset.ts'

/** Sources that earlier packets put into sets. */
export type Memory = ReadonlyMap<string, ReadonlySet<string>>

export interface Scene {
  readonly ruleset: Ruleset
  readonly node: PacketNode
  /** As it came; what happened to it since is in a Travel. */
  readonly packet: Packet
  readonly memory: Memory
}

/** A packet on its way. One that may go several ways becomes several. */
export interface Travel {
  readonly chance: Fraction
  readonly source: string
  readonly destination: string
  readonly port: number
  readonly mark: number
  readonly isTranslated: boolean
  readonly isHidden: boolean
  readonly isUntracked: boolean
  /** Sets that the source was put into. */
  readonly remembers: readonly string[]
}

export interface Decided {
  readonly travel: Travel
  /** `continue` where the rule does not match, or has nothing to say. */
  readonly verdict: Verdict
}

const goOn: Verdict = { kind: 'continue' }

/** From the expression at `at` to the end of the rule. */
export function runRule(scene: Scene, rule: KernelRule, travel: Travel, at = 0): readonly Decided[] {
  const expression = rule[at]
  const noMatch = [{ travel, verdict: goOn }]
  if (expression === undefined) return noMatch
  const next = (now: Travel) => runRule(scene, rule, now, at + 1)
  switch (expression.kind) {
    case 'some of': {
      const chance: Fraction = { over: expression.hits, under: expression.of }
      const missed = { travel: likely(travel, allBut(chance)), verdict: goOn }
      return expression.hits === expression.of ? next(travel) : [...next(likely(travel, chance)), missed]
    }
    case 'set bits':
      return next({ ...travel, mark: travel.mark | expression.bits })
    case 'flip bits':
      return next({ ...travel, mark: travel.mark ^ expression.bits })
    case 'remember source':
      findSet(scene, expression.set)
      return next({ ...travel, remembers: [...travel.remembers, expression.set] })
    case 'verdict':
      return [{ travel, verdict: expression.verdict }]
    case 'verdict by map': {
      const value = findSet(scene, expression.map).find(keyOf(scene, expression.fields, travel))
      return value === undefined ? noMatch : [{ travel, verdict: parseVerdict(value) }]
    }
    case 'verdict by chance': {
      const { verdicts } = expression
      return verdicts.map((verdict) => ({ travel: likely(travel, oneIn(verdicts.length)), verdict }))
    }
    case 'dnat':
      return pick(travel, [expression.target])
    case 'dnat by chance':
      return pick(travel, expression.targets)
    case 'dnat by map': {
      const { choices, fields, map } = expression
      return pickCounted(travel, choices, findSet(scene, map).tally(keyOf(scene, fields, travel), choices))
    }
    case 'masquerade': {
      const [source] = scene.node.localIps
      if (source === undefined) throw new Error('the node has no address that could hide a source')
      return [{ travel: { ...travel, source, isHidden: true }, verdict: { kind: 'accept' } }]
    }
    case 'do not track':
      return next({ ...travel, isUntracked: true })
    case 'new connection':
    case 'translated':
    case 'in set':
    case 'in ranges':
    case 'interface':
    case 'local':
    case 'marked':
    case 'protocol':
    case 'over a limit':
      return matches(scene, expression, travel) ? next(travel) : noMatch
    default:
      return expression satisfies never
  }
}

function matches(scene: Scene, expression: Match, travel: Travel): boolean {
  const { node, packet, memory } = scene
  switch (expression.kind) {
    case 'new connection':
      return !travel.isUntracked
    case 'translated':
      return travel.isTranslated
    case 'in set': {
      const { set, fields, isNot } = expression
      const key = keyOf(scene, fields, travel)
      const isThere = findSet(scene, set).find(key) !== undefined || memory.get(set)?.has(key.join(' . ')) === true
      return isThere !== isNot
    }
    case 'in ranges': {
      const { field, ranges, isNot } = expression
      return ranges.some((range) => cidrContains(range, travel[field])) !== isNot
    }
    case 'interface': {
      const { name, isNot } = expression
      const isIt = name.endsWith('*') ? packet.inInterface.startsWith(name.slice(0, -1)) : packet.inInterface === name
      return isIt !== isNot
    }
    case 'local':
      return isLocalAddress(node, travel[expression.field]) !== expression.isNot
    case 'marked':
      return (travel.mark & expression.bits) !== 0
    case 'protocol':
      return packet.protocol === expression.protocol
    case 'over a limit':
      if (expression.set !== undefined) findSet(scene, expression.set)
      return false
    default:
      return expression satisfies never
  }
}

function pick(travel: Travel, targets: readonly Target[]): readonly Decided[] {
  return targets.map((target) => translated(likely(travel, oneIn(targets.length)), target))
}

/** Where there is no target, the rule does not match. */
function pickCounted(travel: Travel, choices: number, tally: Tally): readonly Decided[] {
  return Array.from(tally, ([value, count]) => {
    const picked = likely(travel, { over: count, under: choices })
    return value === undefined ? { travel: picked, verdict: goOn } : translated(picked, parseTarget(value))
  })
}

function translated(travel: Travel, { ip, port = travel.port }: Target): Decided {
  return { travel: { ...travel, destination: ip, port, isTranslated: true }, verdict: { kind: 'accept' } }
}

function likely(travel: Travel, chance: Fraction): Travel {
  return { ...travel, chance: times(travel.chance, chance) }
}

function keyOf({ packet }: Scene, fields: readonly Field[], travel: Travel): readonly string[] {
  return fields.map((field) => (field === 'protocol' ? packet.protocol : String(travel[field])))
}

function findSet({ ruleset }: Scene, name: string): KernelSet {
  const set = ruleset.sets.get(name)
  if (set === undefined) throw new Error(`a packet was looked up in ${name}, which does not exist`)
  return set
}
