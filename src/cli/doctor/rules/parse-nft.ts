/** Tables as `nft --json` prints them (libnftables-json(5)). What is not known here makes a rule uncertain, never wrong. */
import { parseAddressRange } from './address-range.ts'
import type { AddressRange, Condition, PortRange, Rule, Verdict } from './rule.ts'

type Json = Readonly<Record<string, unknown>>

/** The rules of each chain, in order. */
export function parseNftTable(objects: readonly unknown[]): ReadonlyMap<string, readonly Rule[]> {
  const setsByName = new Map<string, readonly unknown[]>()
  const rulesByChain = new Map<string, Rule[]>()
  for (const object of objects) {
    const set = asJson(asJson(object)?.['set'] ?? asJson(object)?.['map'])
    if (set !== undefined) setsByName.set(String(set['name']), asList(set['elem']))
  }
  for (const object of objects) {
    const rule = asJson(asJson(object)?.['rule'])
    if (rule === undefined) continue
    const chain = String(rule['chain'])
    const rules = rulesByChain.get(chain) ?? []
    rules.push(...parseRule(chain, asList(rule['expr']), setsByName))
    rulesByChain.set(chain, rules)
  }
  return rulesByChain
}

/** One with a map of verdicts or of new destinations is one rule for each of its elements. */
function parseRule(
  chain: string,
  statements: readonly unknown[],
  sets: ReadonlyMap<string, readonly unknown[]>,
): readonly Rule[] {
  const text = `${chain}: ${statements.map(renderStatement).filter(Boolean).join(' ')}`
  const conditions: Condition[] = []
  for (const statement of statements) {
    const [kind = '', value] = Object.entries(asJson(statement) ?? {})[0] ?? []
    if (kind === 'match') conditions.push(...matchConditions(asJson(value) ?? {}, sets))
    else if (kind === 'limit') conditions.push({ kind: 'unknown' })
    else if (kind === 'vmap') return mappedRules(asJson(value) ?? {}, namedVerdict, conditions, text, sets)
    else {
      // A destination that the map does not have goes on to the next rule.
      const map = asJson(asJson(asJson(value)?.['addr'])?.['map'])
      if (kind === 'dnat' && map !== undefined)
        return mappedRules(map, () => ({ kind: 'translate' }), conditions, text, sets)
      const verdict = verdictOf(kind, value)
      if (verdict !== undefined) return [{ text, conditions, verdict }]
    }
  }
  return [{ text, conditions, verdict: { kind: 'continue' } }]
}

const verdictsByStatement: Readonly<Record<string, Exclude<Verdict['kind'], 'jump' | 'goto'>>> = {
  accept: 'accept',
  drop: 'drop',
  reject: 'reject',
  return: 'return',
  continue: 'continue',
  dnat: 'translate',
  redirect: 'translate',
  tproxy: 'translate',
  notrack: 'untrack',
}

function verdictOf(kind: string, value: unknown): Verdict | undefined {
  if (kind === 'jump' || kind === 'goto') return { kind, chain: String(asJson(value)?.['target']) }
  const known = verdictsByStatement[kind]
  return known === undefined ? undefined : { kind: known }
}

function namedVerdict(value: unknown): Verdict | undefined {
  const [kind = '', target] = Object.entries(asJson(value) ?? {})[0] ?? []
  return verdictOf(kind, target)
}

function mappedRules(
  { key, data }: Json,
  verdictIn: (value: unknown) => Verdict | undefined,
  conditions: readonly Condition[],
  text: string,
  sets: ReadonlyMap<string, readonly unknown[]>,
): readonly Rule[] {
  return elementsOf(data, sets).flatMap((element) => {
    const [value, mapped] = asList(element)
    const verdict = verdictIn(mapped)
    if (verdict === undefined) return []
    return [{ text, conditions: [...conditions, ...conditionOn(key, [value], false)], verdict }]
  })
}

function matchConditions(
  { op, left, right }: Json,
  sets: ReadonlyMap<string, readonly unknown[]>,
): readonly Condition[] {
  if (op !== '==' && op !== '!=' && op !== 'in') return [{ kind: 'unknown' }]
  return conditionOn(left, elementsOf(right, sets), op === '!=')
}

/** What `left` must be one of. */
function conditionOn(left: unknown, values: readonly unknown[], isNegated: boolean): readonly Condition[] {
  const [kind = '', field] = Object.entries(asJson(left) ?? {})[0] ?? []
  const fields = asJson(field) ?? {}
  if (kind === 'concat' && values.length === 1 && !isNegated) {
    const parts = asList(asJson(values[0])?.['concat'])
    return asList(field).flatMap((part, index) => conditionOn(part, [parts[index]], false))
  }
  if (kind === 'payload' && fields['field'] === 'daddr') {
    const ranges = values.map(addressRange)
    if (ranges.every((range) => range !== undefined)) return [{ kind: 'destination', ranges, isNegated }]
  }
  if (kind === 'payload' && fields['field'] === 'dport') {
    const ranges = values.map(portRange)
    const protocol = String(fields['protocol'])
    const ofProtocol: readonly Condition[] =
      protocol === 'th' ? [] : [{ kind: 'protocol', names: [protocol], isNegated: false }]
    if (ranges.every((range) => range !== undefined)) return [...ofProtocol, { kind: 'port', ranges, isNegated }]
  }
  const names = values.flatMap((value) => (typeof value === 'string' ? [value] : asList(value).map(String)))
  if (kind === 'meta' && (fields['key'] === 'l4proto' || fields['key'] === 'protocol'))
    return fields['key'] === 'l4proto' ? [{ kind: 'protocol', names, isNegated }] : familyCondition(names, isNegated)
  if (kind === 'meta' && fields['key'] === 'nfproto') return familyCondition(names, isNegated)
  if (kind === 'meta' && /^[io]if(?:name)?$/.test(String(fields['key'])) && names.length === 1 && names[0] === 'lo')
    return [{ kind: 'loopback-device', isNegated }]
  if (kind === 'payload' && fields['field'] === 'protocol') return [{ kind: 'protocol', names, isNegated }]
  if (kind === 'ct' && fields['key'] === 'state') return [{ kind: 'state', names, isNegated }]
  if (kind === 'ct' && fields['key'] === 'status' && names.includes('dnat')) return [{ kind: 'translated', isNegated }]
  if (kind === 'fib' && fields['result'] === 'type' && names.length === 1 && names[0] === 'local') {
    const flags = asList(fields['flags']).map(String)
    if (flags.length === 1 && flags[0] === 'daddr') return [{ kind: 'local-destination', isNegated }]
  }
  return [{ kind: 'unknown' }]
}

function familyCondition(names: readonly string[], isNegated: boolean): readonly Condition[] {
  const [name] = names
  if (names.length !== 1 || isNegated) return [{ kind: 'unknown' }]
  if (name === 'ipv4' || name === 'ip') return [{ kind: 'family', family: 'ipv4' }]
  return name === 'ipv6' || name === 'ip6' ? [{ kind: 'family', family: 'ipv6' }] : [{ kind: 'unknown' }]
}

/** Of a set that is written in the rule, or that it names; one value alone is a set of one. */
function elementsOf(value: unknown, sets: ReadonlyMap<string, readonly unknown[]>): readonly unknown[] {
  if (typeof value === 'string' && value.startsWith('@')) return (sets.get(value.slice(1)) ?? []).map(elementValue)
  const set = asJson(value)?.['set']
  if (set !== undefined) return asList(set).map(elementValue)
  return Array.isArray(value) ? (value as readonly unknown[]) : [value]
}

/** With a timeout or a counter it is wrapped. */
function elementValue(element: unknown): unknown {
  const wrapped = asJson(asJson(element)?.['elem'])
  return wrapped === undefined ? element : wrapped['val']
}

function addressRange(value: unknown): AddressRange | undefined {
  if (typeof value === 'string') return parseAddressRange(value)
  const prefix = asJson(asJson(value)?.['prefix'])
  if (prefix !== undefined) return parseAddressRange(`${String(prefix['addr'])}/${String(prefix['len'])}`)
  const range = asList(asJson(value)?.['range'])
  return range.length === 2 ? parseAddressRange(range.map(String).join('-')) : undefined
}

function portRange(value: unknown): PortRange | undefined {
  if (typeof value === 'number') return [value, value]
  const [first, last] = asList(asJson(value)?.['range'])
  return typeof first === 'number' && typeof last === 'number' ? [first, last] : undefined
}

/** Short, for people: `ip daddr 10.96.0.10`. */
function renderStatement(statement: unknown): string {
  const [kind = '', value] = Object.entries(asJson(statement) ?? {})[0] ?? []
  if (kind === 'counter' || kind === 'log') return ''
  const fields = asJson(value) ?? {}
  if (kind === 'match') {
    const op = fields['op'] === '!=' ? ' !=' : ''
    return `${renderExpression(fields['left'])}${op} ${renderExpression(fields['right'])}`
  }
  if (kind === 'vmap') return `${renderExpression(fields['key'])} vmap …`
  if (kind === 'jump' || kind === 'goto') return `${kind} ${String(fields['target'])}`
  if (kind === 'dnat' || kind === 'redirect') {
    const port = fields['port'] === undefined ? '' : `:${renderExpression(fields['port'])}`
    const to = fields['addr'] === undefined ? port : `${renderExpression(fields['addr'])}${port}`
    return `${kind}${to === '' ? '' : ` to ${to}`}`
  }
  return kind
}

function renderExpression(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (Array.isArray(value)) return value.map(renderExpression).join(',')
  const [kind = '', inner] = Object.entries(asJson(value) ?? {})[0] ?? []
  const fields = asJson(inner) ?? {}
  switch (kind) {
    case 'payload':
      return `${String(fields['protocol'])} ${String(fields['field'])}`
    case 'prefix':
      return `${String(fields['addr'])}/${String(fields['len'])}`
    case 'range':
      return asList(inner).map(renderExpression).join('-')
    case 'set': {
      const elements = asList(inner)
      const shown = elements.slice(0, 4).map((element) => renderExpression(elementValue(element)))
      return `{ ${[...shown, ...(elements.length > 4 ? ['…'] : [])].join(', ')} }`
    }
    case 'meta':
    case 'ct':
      return kind === 'ct' ? `ct ${String(fields['key'])}` : String(fields['key'])
    case 'concat':
      return asList(inner).map(renderExpression).join(' . ')
    case 'map':
      return `${renderExpression(fields['key'])} map …`
    case 'fib':
      return `fib ${asList(fields['flags']).map(String).join(' . ')} ${String(fields['result'])}`
    default:
      return kind
  }
}

function asJson(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

function asList(value: unknown): readonly unknown[] {
  if (value === undefined) return []
  return Array.isArray(value) ? (value as readonly unknown[]) : [value]
}
