/**
 * Turns a rule as Fairlead writes it into the text that iptables-save prints for it, so that a plan can be compared
 * with the kernel without loading it. It knows the matches and targets that Fairlead uses; a test compares it with the
 * real tools of both variants.
 */
import type { Family } from '../../net/ip.ts'
import { quoted, ruleWords } from './rule-quoting.ts'

/** Takes a rule with or without the leading `-A CHAIN`. */
export function canonicalRule(emitted: string, family: Family): string {
  return renderRule(groupOptions(ruleWords(emitted)), family)
}

interface Option {
  readonly isNegated: boolean
  readonly flag: string
  readonly values: string[]
}

/** One match with its options, or the target with its own. */
interface Extension {
  readonly name: string
  readonly options: Option[]
}

interface GroupedRule {
  /** `-A CHAIN`, or nothing. */
  readonly place: readonly string[]
  readonly headers: Option[]
  readonly matches: Extension[]
  target: Extension | undefined
}

/** iptables-save prints these options first, in this order. */
const headerFlags = ['-s', '-d', '-i', '-o', '-p']

/** The kernel keeps 256 bytes of a comment, the last of which is NUL. */
const maxCommentLength = 255

function groupOptions(words: readonly string[]): GroupedRule {
  const hasPlace = words[0] === '-A'
  const rule: GroupedRule = { place: hasPlace ? words.slice(0, 2) : [], headers: [], matches: [], target: undefined }
  let extension: Extension | undefined
  let option: Option | undefined
  let isNegated = false
  for (let i = hasPlace ? 2 : 0; i < words.length; i++) {
    const word = words[i] ?? ''
    if (word === '!') isNegated = true
    else if (word === '-m') {
      extension = { name: words[++i] ?? '', options: [] }
      rule.matches.push(extension)
    } else if (word === '-j') {
      extension = { name: words[++i] ?? '', options: [] }
      rule.target = extension
    } else if (headerFlags.includes(word)) {
      rule.headers.push({ isNegated, flag: word, values: [words[++i] ?? ''] })
      isNegated = false
    } else if (word.startsWith('--')) {
      option = { isNegated, flag: word, values: [] }
      ;(extension?.options ?? rule.headers).push(option)
      isNegated = false
      // The next word is the text of the comment, even if it looks like an option.
      if (word === '--comment') option.values.push(words[++i] ?? '')
    } else option?.values.push(word)
  }
  return rule
}

function renderRule(rule: GroupedRule, family: Family): string {
  const words: string[] = [...rule.place]
  for (const flag of headerFlags)
    for (const option of rule.headers)
      if (option.flag === flag && !matchesAll(option))
        words.push(renderOption({ ...option, values: [headerValue(option, family)] }))
  for (const match of rule.matches) words.push('-m', match.name, ...renderMatch(match, family))
  if (rule.target !== undefined) words.push('-j', rule.target.name, ...renderTarget(rule.target, family))
  return words.join(' ')
}

/** The tools drop `-s 0.0.0.0/0`, which matches everything. */
function matchesAll(option: Option): boolean {
  return !option.isNegated && (option.values[0] ?? '').endsWith('/0')
}

function headerValue(option: Option, family: Family): string {
  const value = option.values[0] ?? ''
  if (option.flag !== '-s' && option.flag !== '-d') return value
  const address = family === 'ipv4' ? value : asPrintedByLibc(value)
  return address.includes('/') ? address : `${address}/${family === 'ipv4' ? 32 : 128}`
}

function renderMatch(match: Extension, family: Family): string[] {
  switch (match.name) {
    case 'comment':
      return match.options.map((option) => `--comment ${quoted((option.values[0] ?? '').slice(0, maxCommentLength))}`)
    case 'bpf':
      return match.options.map(({ flag, values }) => `${flag} "${values[0] ?? ''}"`)
    case 'conntrack':
      return match.options.map((option) => renderOption({ ...option, values: option.values.map(orderedStates) }))
    case 'mark':
      return match.options.map((option) => renderOption({ ...option, values: option.values.map(shortMark) }))
    case 'statistic':
      return match.options.map(renderStatisticOption)
    case 'recent':
      return renderRecent(match, family)
    case 'ipvs':
      return renderIpvs(match, family)
    case 'nfacct':
      // iptables 1.8 prints two spaces.
      return match.options.map((option) => `${option.flag}  ${option.values.join(' ')}`)
    default:
      return match.options.map(renderOption)
  }
}

function renderTarget(target: Extension, family: Family): string[] {
  switch (target.name) {
    case 'MARK':
      return target.options.map(renderMarkOption)
    case 'REJECT':
      if (target.options.length > 0) return target.options.map(renderOption)
      return [`--reject-with ${family === 'ipv4' ? 'icmp' : 'icmp6'}-port-unreachable`]
    case 'DNAT':
      return target.options.map((option) =>
        renderOption({ ...option, values: option.values.map((value) => bracketedAsPrintedByLibc(value)) }),
      )
    default:
      return target.options.map(renderOption)
  }
}

function renderOption(option: Option): string {
  const words = [option.flag, ...option.values]
  return (option.isNegated ? ['!', ...words] : words).join(' ')
}

const stateOrder = ['INVALID', 'NEW', 'RELATED', 'ESTABLISHED', 'UNTRACKED', 'SNAT', 'DNAT']

function orderedStates(list: string): string {
  const states = list.split(',')
  return states.sort((a, b) => stateOrder.indexOf(a) - stateOrder.indexOf(b)).join(',')
}

/** `0x00004000/0x00004000` is printed as `0x4000/0x4000`. */
function shortMark(mark: string): string {
  return mark.split('/').map(shortHex).join('/')
}

function shortHex(number: string): string {
  return `0x${Number(number).toString(16)}`
}

/** The kernel has one operation, "clear these bits, then flip those", which is always saved as --set-xmark. */
function renderMarkOption(option: Option): string {
  const value = option.values[0] ?? ''
  switch (option.flag) {
    case '--xor-mark':
      return `--set-xmark ${shortHex(value)}/0x0`
    case '--or-mark':
      return `--set-xmark ${shortHex(value)}/${shortHex(value)}`
    default:
      return renderOption({ ...option, values: [shortMark(value)] })
  }
}

function renderStatisticOption(option: Option): string {
  if (option.flag !== '--probability') return renderOption(option)
  return renderOption({ ...option, values: [savedProbability(option.values[0] ?? '')] })
}

/** The kernel keeps a 31-bit fraction. It is printed with eleven decimals, and an exact half is rounded to even. */
function savedProbability(text: string): string {
  const fraction = BigInt(Math.round(Number(text) * 2 ** 31))
  const scaled = fraction * 10n ** 11n
  const rest = scaled & 0x7fffffffn
  let digits = scaled >> 31n
  if (rest > 0x40000000n || (rest === 0x40000000n && (digits & 1n) === 1n)) digits++
  const padded = digits.toString().padStart(12, '0')
  return `${padded.slice(0, -11)}.${padded.slice(-11)}`
}

/** Saved in a fixed order, with the defaults. */
function renderRecent(match: Extension, family: Family): string[] {
  const byFlag = new Map(match.options.map((option) => [option.flag, option]))
  const words: string[] = []
  for (const flag of ['--set', '--rcheck', '--seconds', '--reap', '--name']) {
    const option = byFlag.get(flag)
    if (option !== undefined) words.push(renderOption(option))
  }
  const mask = family === 'ipv4' ? '255.255.255.255' : 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
  return [...words, `--mask ${mask}`, '--rsource']
}

/** Saved in a fixed order, with the number of the protocol. */
function renderIpvs(match: Extension, family: Family): string[] {
  const valuesByFlag = new Map(match.options.map(({ flag, values }) => [flag, values[0] ?? '']))
  const words: string[] = []
  for (const flag of ['--vproto', '--vaddr', '--vport']) {
    const value = valuesByFlag.get(flag)
    if (value === undefined) continue
    if (flag === '--vproto') words.push(`${flag} ${protocolNumbers[value] ?? value}`)
    else if (flag === '--vaddr' && family === 'ipv6') words.push(`${flag} ${asPrintedByLibc(value)}`)
    else words.push(`${flag} ${value}`)
  }
  return words
}

const protocolNumbers: Readonly<Record<string, string>> = { tcp: '6', udp: '17', sctp: '132' }

/** The C library prints ::102:304 as ::1.2.3.4, unlike RFC 5952. */
function asPrintedByLibc(address: string): string {
  return address.replace(/^::([1-9a-f][0-9a-f]{0,3}):([0-9a-f]{1,4})(?=\/|$)/, (_, high: string, low: string) => {
    const bytes = [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    return `::${bytes.join('.')}`
  })
}

function bracketedAsPrintedByLibc(destination: string): string {
  return destination.replace(/^\[([^\]]+)\]/, (_, address: string) => `[${asPrintedByLibc(address)}]`)
}
