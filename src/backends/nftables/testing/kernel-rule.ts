/** Rules as the kernel runs them, read from the text that nft is given or prints. Nothing of the plan is in here. */
import type { Cidr } from '../../../net/ip.ts'
import { parsePrefix } from './prefix.ts'

export type Field = 'source' | 'destination' | 'protocol' | 'port'

export interface Target {
  readonly ip: string
  /** Undefined: as it is. */
  readonly port: number | undefined
}

export type Verdict =
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  | { readonly kind: 'drop' | 'reject' | 'accept' | 'return' | 'continue' }

type Expression = Match | Action

export type Match =
  | { readonly kind: 'new connection' }
  | { readonly kind: 'translated' }
  | { readonly kind: 'in set'; readonly fields: readonly Field[]; readonly set: string; readonly isNot: boolean }
  | {
      readonly kind: 'in ranges'
      readonly field: 'source' | 'destination'
      readonly ranges: readonly Cidr[]
      readonly isNot: boolean
    }
  | { readonly kind: 'interface'; readonly name: string; readonly isNot: boolean }
  | { readonly kind: 'local'; readonly field: 'source' | 'destination'; readonly isNot: boolean }
  | { readonly kind: 'marked'; readonly bits: number }
  | { readonly kind: 'protocol'; readonly protocol: string }
  /** Of the first packet never true. */
  | { readonly kind: 'over a limit'; readonly set?: string }

type Action =
  | { readonly kind: 'some of'; readonly hits: number; readonly of: number }
  | { readonly kind: 'set bits' | 'flip bits'; readonly bits: number }
  | { readonly kind: 'remember source'; readonly set: string }
  | { readonly kind: 'verdict by map'; readonly fields: readonly Field[]; readonly map: string }
  | { readonly kind: 'verdict by chance'; readonly verdicts: readonly Verdict[] }
  | { readonly kind: 'dnat by map'; readonly fields: readonly Field[]; readonly choices: number; readonly map: string }
  | { readonly kind: 'dnat by chance'; readonly targets: readonly Target[] }
  | { readonly kind: 'dnat'; readonly target: Target }
  | { readonly kind: 'masquerade' | 'do not track' }
  | { readonly kind: 'verdict'; readonly verdict: Verdict }

export type KernelRule = readonly Expression[]

export function parseRule(text: string): KernelRule {
  const expressions: Expression[] = []
  let rest = text.replace(/ ?comment "[^"]*"$/, '')
  while (rest !== '') {
    const [matched, expression] = parseFirst(rest)
    expressions.push(expression)
    rest = rest.slice(matched.length).trimStart()
  }
  return expressions
}

/** `10.0.0.1 . 80` or `10.0.0.1`, the value of an element. */
export function parseTarget(text: string): Target {
  const [ip = '', port] = text.split(' . ')
  return { ip, port: port === undefined ? undefined : Number(port) }
}

export function parseVerdict(text: string): Verdict {
  const [, way, chain = ''] = /^(jump|goto) (\S+)$/.exec(text) ?? []
  if (way === 'jump' || way === 'goto') return { kind: way, chain }
  const kind = simpleVerdicts.find((name) => name === text)
  if (kind === undefined) throw new Error(`not a verdict: ${text}`)
  return { kind }
}

const simpleVerdicts = ['drop', 'reject', 'accept', 'return', 'continue'] as const

const field = String.raw`(?:ip6? [sd]addr|meta l4proto|th dport)`
const fields = String.raw`(${field}(?: \. ${field})*)`

/** The longer ones come first where one starts like another. */
const patterns: readonly (readonly [string, (...groups: string[]) => Expression])[] = [
  ['ct state new', () => ({ kind: 'new connection' })],
  ['ct status dnat', () => ({ kind: 'translated' })],
  [`${fields} (!= )?@(\\S+)`, (list, not, set) => ({ kind: 'in set', fields: fieldsOf(list), set, isNot: not !== '' })],
  [`${fields} vmap @(\\S+)`, (list, map) => ({ kind: 'verdict by map', fields: fieldsOf(list), map })],
  [
    String.raw`ip6? ([sd])addr (!= )?(?:\{ ([^}]+) \}|(\S+))`,
    (end, not, list, single) => ({
      kind: 'in ranges',
      field: end === 's' ? 'source' : 'destination',
      ranges: (list || single).split(', ').map(parsePrefix),
      isNot: not !== '',
    }),
  ],
  ['iifname (!= )?"([^"]+)"', (not, name) => ({ kind: 'interface', name, isNot: not !== '' })],
  [
    'fib ([sd])addr type (!= )?local',
    (end, not) => ({ kind: 'local', field: end === 's' ? 'source' : 'destination', isNot: not !== '' }),
  ],
  ['meta mark & (0x\\w+) != (?:0x0+|0)(?= |$)', (bits) => ({ kind: 'marked', bits: Number(bits) })],
  ['meta mark set meta mark \\| (0x\\w+)', (bits) => ({ kind: 'set bits', bits: Number(bits) })],
  ['meta mark set meta mark \\^ (0x\\w+)', (bits) => ({ kind: 'flip bits', bits: Number(bits) })],
  ['meta l4proto (tcp|udp|sctp)', (protocol) => ({ kind: 'protocol', protocol })],
  [
    'numgen random mod \\d+ vmap \\{ ([^}]+) \\}',
    (list) => ({ kind: 'verdict by chance', verdicts: byIndex(list).map(parseVerdict) }),
  ],
  [String.raw`add @(\S+) \{ meta l4proto ct count over \d+ \}`, (set) => ({ kind: 'over a limit', set })],
  [String.raw`limit rate over \d+/second(?: burst \d+ packets)?`, () => ({ kind: 'over a limit' })],
  ['numgen random mod (\\d+) 0(?= |$)', (of) => ({ kind: 'some of', hits: 1, of: Number(of) })],
  ['numgen random mod (\\d+) < (\\d+)', (of, hits) => ({ kind: 'some of', hits: Number(hits), of: Number(of) })],
  [String.raw`update @(\S+) \{ ip6? saddr \}`, (set) => ({ kind: 'remember source', set })],
  // Of a client that nobody knows: a hash, or whose turn it is, is as good as a random number.
  [
    String.raw`dnat (?:ip6? )?to ${fields} \. (?:numgen (?:random|inc)|jhash ip6? saddr(?: \. th sport)?) mod (\d+)(?: seed 0x\w+)? map @(\S+)`,
    (list, choices, map) => ({ kind: 'dnat by map', fields: fieldsOf(list), choices: Number(choices), map }),
  ],
  [
    String.raw`dnat ip6? to numgen random mod \d+ map \{ ([^}]+) \}`,
    (list) => ({ kind: 'dnat by chance', targets: byIndex(list).map(parseTarget) }),
  ],
  [
    String.raw`dnat to (?:\[(\S+)\]|([\d.]+)):(\d+)`,
    (ip6, ip4, port) => ({ kind: 'dnat', target: { ip: ip6 || ip4, port: Number(port) } }),
  ],
  [String.raw`dnat to ([^\s[\]]+)(?= |$)`, (ip) => ({ kind: 'dnat', target: { ip, port: undefined } })],
  ['masquerade fully-random', () => ({ kind: 'masquerade' })],
  ['notrack', () => ({ kind: 'do not track' })],
  ['reject with tcp reset', () => ({ kind: 'verdict', verdict: { kind: 'reject' } })],
  ['((?:jump|goto) \\S+|drop|reject)', (verdict) => ({ kind: 'verdict', verdict: parseVerdict(verdict) })],
]

const compiled = patterns.map(([source, build]) => ({ pattern: new RegExp(`^${source}`), build }))

function parseFirst(text: string): readonly [matched: string, Expression] {
  for (const { pattern, build } of compiled) {
    const match = pattern.exec(text)
    if (match !== null) return [match[0], build(...match.slice(1).map((group: string | undefined) => group ?? ''))]
  }
  throw new Error(`nobody taught the tests this part of a rule: ${text}`)
}

function fieldsOf(list: string): readonly Field[] {
  return list.split(' . ').map((name): Field => {
    if (name.endsWith('saddr')) return 'source'
    if (name.endsWith('daddr')) return 'destination'
    return name === 'th dport' ? 'port' : 'protocol'
  })
}

/** `0 : a, 1 : b`, in this order. */
function byIndex(list: string): readonly string[] {
  return list.split(', ').map((entry, index) => {
    if (!entry.startsWith(`${index} : `)) throw new Error(`not numbered from 0: ${list}`)
    return entry.slice(`${index} : `.length)
  })
}
