/** Rules as `iptables-save` prints them. */
import { ruleWords } from '../../../dataplane/iptables/rule-quoting.ts'
import { parseAddressRange } from './address-range.ts'
import type { Condition, PortRange, Rule, Verdict } from './rule.ts'

/** `rule` is without `-A CHAIN`. Chains for which `isOurs` holds are a proxy's: what they do is its business. */
export function parseIptablesRule(chain: string, rule: string, isOurs: (chain: string) => boolean): Rule {
  const words = ruleWords(rule)
  const conditions: Condition[] = []
  let verdict: Verdict = { kind: 'continue' }
  for (let at = 0; at < words.length;) {
    const isNegated = words[at] === '!'
    if (isNegated) at++
    const [option = '', value = ''] = words.slice(at, at + 2)
    if (option === '-j' || option === '-g') {
      verdict = verdictOf(option, value, isOurs)
      break // what follows belongs to the target
    }
    const known = optionOf(option, value, isNegated)
    if (known !== 'nothing') conditions.push(known)
    at += 1 + valuesOf(words, at + 1)
  }
  return { text: `-A ${chain} ${rule}`, conditions, verdict }
}

/** How many words follow that are no option. */
function valuesOf(words: readonly string[], from: number): number {
  let count = 0
  while (from + count < words.length && !/^(?:!|-{1,2}[a-zA-Z].*)$/.test(words[from + count] ?? '')) count++
  return count
}

const terminal: Readonly<Record<string, Exclude<Verdict['kind'], 'jump' | 'goto'>>> = {
  ACCEPT: 'accept',
  DROP: 'drop',
  REJECT: 'reject',
  DNAT: 'translate',
  REDIRECT: 'translate',
  NETMAP: 'translate',
  TPROXY: 'translate',
  NOTRACK: 'untrack',
  RETURN: 'return',
}

/** Targets that change nothing about where the packet goes. */
const passing =
  /^(?:LOG|NFLOG|ULOG|MARK|CONNMARK|TRACE|AUDIT|CLASSIFY|DSCP|TOS|TTL|HL|TCPMSS|SET|CHECKSUM|SECMARK|CONNSECMARK|NFQUEUE|MASQUERADE|SNAT|CT)$/

function verdictOf(option: string, target: string, isOurs: (chain: string) => boolean): Verdict {
  const kind = terminal[target]
  if (kind !== undefined) return { kind }
  if (passing.test(target)) return { kind: 'continue' }
  if (isOurs(target)) return { kind: 'ours' }
  return { kind: option === '-g' ? 'goto' : 'jump', chain: target }
}

function optionOf(option: string, value: string, isNegated: boolean): Condition | 'nothing' {
  switch (option) {
    case '-d': {
      const range = parseAddressRange(value)
      return range === undefined ? { kind: 'unknown' } : { kind: 'destination', ranges: [range], isNegated }
    }
    case '--dst-range': {
      const range = parseAddressRange(value)
      return range === undefined ? { kind: 'unknown' } : { kind: 'destination', ranges: [range], isNegated }
    }
    case '-p':
      return value === 'all' ? 'nothing' : { kind: 'protocol', names: [protocolName(value)], isNegated }
    case '--dport':
    case '--dports':
      return { kind: 'port', ranges: value.split(',').map(portRange), isNegated }
    case '--ctstate':
    case '--state':
      return { kind: 'state', names: value.toLowerCase().split(','), isNegated }
    case '--ctstatus':
      return value === 'DNAT' ? { kind: 'translated', isNegated } : { kind: 'unknown' }
    case '--dst-type':
      return value === 'LOCAL' ? { kind: 'local-destination', isNegated } : { kind: 'unknown' }
    case '-i':
    case '-o':
      return value === 'lo' ? { kind: 'loopback-device', isNegated } : { kind: 'unknown' }
    // They name an extension, whose options follow, or only say something.
    case '-m':
      return /^(?:tcp|udp|sctp|multiport|comment|conntrack|state|addrtype|iprange)$/.test(value)
        ? 'nothing'
        : { kind: 'unknown' }
    case '--comment':
      return 'nothing'
    default:
      return { kind: 'unknown' }
  }
}

const protocolNumbers: Readonly<Record<string, string>> = { '6': 'tcp', '17': 'udp', '132': 'sctp', '1': 'icmp' }

function protocolName(value: string): string {
  return protocolNumbers[value] ?? value
}

/** `80` or `8000:8080`. */
function portRange(text: string): PortRange {
  const [first = '', last = first] = text.split(':')
  return [Number(first), Number(last)]
}
