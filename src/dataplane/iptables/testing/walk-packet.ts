/**
 * Sends the first packet of a connection through the rules that `iptables-save` printed, up to the socket or the next
 * hop. It knows the matches and targets of our rules, and throws at any other.
 */
import type { Protocol } from '../../../api/records.ts'
import { cidrContains, hostPort, parseCidr } from '../../../net/ip.ts'
import { ruleWords } from '../rule-quoting.ts'
import { parseSave } from '../save-text.ts'
import type { RulesByChain } from '../save-text.ts'

export interface Packet {
  readonly source: string
  readonly destination: string
  readonly port: number
  readonly protocol: Protocol
}

export interface Surroundings {
  readonly isLocal: (ip: string) => boolean
  /** Whether an IP set has an entry for the packet, whose parts are taken from these ends: `dst`, `dst,dst,src`. */
  readonly isInSet?: (set: string, ends: string, packet: Packet) => boolean
}

export interface Ending {
  /** With the destination after NAT. */
  readonly packet: Packet
  readonly isTranslated: boolean
  readonly outcome: 'arrives' | 'dropped' | 'rejected'
}

/** Rules by table and chain. */
export type Tables = ReadonlyMap<string, Chains>
type Chains = ReadonlyMap<string, readonly Rule[]>

export function parseTables(saved: string): Tables {
  const parseChains = (chains: RulesByChain): Chains =>
    new Map(Array.from(chains, ([chain, rules]) => [chain, rules.map(parseRule)]))
  return new Map(Array.from(parseSave(saved), ([table, chains]) => [table, parseChains(chains)]))
}

/** Most of what a sync does leaves the rules as they are. */
export class ParsedRules {
  #last = { saved: '', tables: parseTables('') }

  of(saved: string): Tables {
    if (saved !== this.#last.saved) this.#last = { saved, tables: parseTables(saved) }
    return this.#last.tables
  }
}

/** All possible endings: where a rule matches at random, both cases are followed. */
export function endingsOf(tables: Tables, surroundings: Surroundings, packet: Packet): readonly Ending[] {
  const walk = (table: string, hook: string, travel: Travel) =>
    walkChain({ chains: tables.get(table) ?? new Map<string, never>(), surroundings }, hook, travel)
  const start: Travel = { packet, isTranslated: false, mark: 0, end: undefined }
  return walk('nat', 'PREROUTING', start)
    .map((travel): Travel => ({ ...travel, end: undefined }))
    .flatMap((travel) => walk('filter', surroundings.isLocal(travel.packet.destination) ? 'INPUT' : 'FORWARD', travel))
    .map(({ packet: now, isTranslated, end }) => ({
      packet: now,
      isTranslated,
      outcome: end === 'dropped' || end === 'rejected' ? end : 'arrives',
    }))
}

/** The destinations as `ip:port`, if NAT changes it and the packet arrives in all cases. */
export function newDestinations(endings: readonly Ending[]): readonly string[] {
  if (endings.some(({ outcome, isTranslated }) => outcome !== 'arrives' || !isTranslated)) return []
  return [...new Set(endings.map(({ packet: { destination, port } }) => hostPort(destination, port)))].sort()
}

interface Scene {
  readonly chains: Chains
  readonly surroundings: Surroundings
}

interface Travel {
  readonly packet: Packet
  readonly isTranslated: boolean
  readonly mark: number
  /** Set when it left the table. */
  readonly end: 'accepted' | 'dropped' | 'rejected' | undefined
}

function walkChain(scene: Scene, chain: string, travel: Travel): readonly Travel[] {
  const rules = scene.chains.get(chain)
  if (rules === undefined) throw new Error(`a packet was sent to the chain ${chain}, which does not exist`)
  let inChain: readonly Travel[] = [travel]
  const out: Travel[] = []
  for (const rule of rules) {
    inChain = inChain.flatMap((before) => {
      const odds = chances(rule.matches, scene.surroundings, before)
      const passed = odds === 'always' ? [] : [before]
      if (odds === 'never') return passed
      if (rule.target === 'RETURN') {
        out.push(before)
        return passed
      }
      const after = carryOut(scene, rule, before)
      out.push(...after.filter(({ end }) => end !== undefined))
      return [...passed, ...after.filter(({ end }) => end === undefined)]
    })
  }
  return [...out, ...inChain]
}

function carryOut(scene: Scene, { target, options }: Rule, travel: Travel): readonly Travel[] {
  switch (target) {
    case undefined:
      return [travel]
    case 'ACCEPT':
      return [{ ...travel, end: 'accepted' }]
    case 'DROP':
      return [{ ...travel, end: 'dropped' }]
    case 'REJECT':
      return [{ ...travel, end: 'rejected' }]
    case 'MARK': {
      const [value = 0, mask = 0] = (options.get('--set-xmark') ?? '').split('/').map(Number)
      return [{ ...travel, mark: (travel.mark & ~mask) ^ value }]
    }
    case 'DNAT': {
      const [, ip = '', port = ''] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(options.get('--to-destination') ?? '') ?? []
      const packet = { ...travel.packet, destination: ip, port: Number(port) }
      return [{ ...travel, packet, isTranslated: true, end: 'accepted' }]
    }
    default:
      return walkChain(scene, target, travel)
  }
}

interface Match {
  readonly option: string
  readonly value: string
  readonly isNot: boolean
}

interface Rule {
  readonly matches: readonly Match[]
  readonly target: string | undefined
  /** Of the target. */
  readonly options: ReadonlyMap<string, string>
}

/** Options without a value. */
const flags = new Set(['--rcheck', '--set', '--reap', '--rsource', '--physdev-is-in', '--random-fully'])

function parseRule(text: string): Rule {
  const words = ruleWords(text)
  const matches: Match[] = []
  const options = new Map<string, string>()
  let target: string | undefined
  let isNot = false
  for (let at = 0; at < words.length; at++) {
    const option = words[at] ?? ''
    if (option === '!') {
      isNot = true
      continue
    }
    let value = flags.has(option) ? '' : (words[++at] ?? '')
    if (option === '--match-set') value += ` ${words[++at]}`
    if (option === '-j') target = value
    else if (target === undefined) matches.push({ option, value, isNot })
    else options.set(option, value)
    isNot = false
  }
  return { matches, target, options }
}

type Odds = 'always' | 'perhaps' | 'never'

function chances(matches: readonly Match[], surroundings: Surroundings, travel: Travel): Odds {
  let odds: Odds = 'always'
  for (const match of matches) {
    const isMatch = matchOne(match, surroundings, travel)
    if (isMatch === 'perhaps') odds = 'perhaps'
    else if (isMatch === match.isNot) return 'never'
  }
  return odds
}

function matchOne(
  { option, value }: Match,
  { isLocal, isInSet }: Surroundings,
  { packet, isTranslated, mark }: Travel,
): boolean | 'perhaps' {
  switch (option) {
    case '-s':
      return contains(value, packet.source)
    case '-d':
      return contains(value, packet.destination)
    case '-p':
      return value === packet.protocol.toLowerCase()
    case '--dport':
      return Number(value) === packet.port
    case '--src-type':
      return isLocal(packet.source)
    case '--dst-type':
      return isLocal(packet.destination)
    case '--ctstate':
    case '--state':
      return value.split(',').some((state) => state === 'NEW' || (state === 'DNAT' && isTranslated))
    case '--mark': {
      const [wanted = 0, mask = 0] = value.split('/').map(Number)
      return (mark & mask) === wanted
    }
    case '--match-set': {
      const [set = '', ends = ''] = value.split(' ')
      if (isInSet === undefined) throw new Error(`a rule asks the set ${set}, and there are none here`)
      return isInSet(set, ends, packet)
    }
    case '--probability':
    case '--bytecode':
      return 'perhaps'
    case '--rcheck':
      return false // this is the first packet of the client
    case '--physdev-is-in':
      return false // it did not come through a bridge
    case '-m':
    case '--comment':
    case '--mode':
    case '--nfacct-name':
    case '--set':
    case '--reap':
    case '--rsource':
    case '--seconds':
    case '--name':
    case '--mask':
      return true
    default:
      throw new Error(`rules have "${option} ${value}", which tests do not know`)
  }
}

function contains(range: string, ip: string): boolean {
  const cidr = parseCidr(range)
  return cidr === undefined ? range === ip : cidrContains(cidr, ip)
}
