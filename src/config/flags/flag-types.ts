import { parseCidr, parseIp } from '../../net/ip.ts'
import type { FlagType, Parsed } from './flag.ts'
import { parseGoDuration, renderGoDuration } from '../../net/go-duration.ts'
import { splitHostPort } from '../host-port.ts'
import { parseQuantity, type Quantity } from '../quantity.ts'

export const bool: FlagType<boolean> = {
  label: '',
  alone: 'true',
  parse: (text) => found(parseBool(text), `"${text}" is neither true nor false`),
  render: String,
}

export const text: FlagType<string> = {
  label: 'string',
  parse: (text) => ({ ok: true, value: text }),
  render: (value) => value,
}

export const int32: FlagType<number> = {
  label: 'int32',
  parse: (text) => found(parseInteger(text), `"${text}" is not a whole number between -2147483648 and 2147483647`),
  render: String,
}

export const float32: FlagType<number> = {
  label: 'float32',
  parse: (text) => found(parseDecimal(text), `"${text}" is not a number`),
  render: String,
}

/** Milliseconds inside Fairlead, a Go duration on the command line. */
export const duration: FlagType<number> = {
  label: 'duration',
  parse: (text) => found(parseGoDuration(text), `"${text}" is not a duration like 500ms, 30s or 1h30m`),
  render: renderGoDuration,
}

export function oneOf<const Word extends string>(words: readonly Word[]): FlagType<Word> {
  const list = words.join(', ')
  return {
    label: 'string',
    words,
    parse: (text) =>
      found(
        words.find((word) => word === text),
        `"${text}" is none of ${list}`,
      ),
    render: (value) => value,
  }
}

/** Alone, without a value, it means true. */
export const boolOrAuto: FlagType<'auto' | 'true' | 'false'> = { ...oneOf(['auto', 'true', 'false']), alone: 'true' }

export const strings: FlagType<readonly string[]> = listOf('strings', (item) => ({ ok: true, value: item }))

export const ips: FlagType<readonly string[]> = listOf('ips', (item) =>
  found(parseIp(item), `"${item}" is not a valid IP address`),
)

export const cidrs: FlagType<readonly string[]> = listOf('cidrs', (item) =>
  found(parseCidr(item) && item, `"${item}" is not a range of addresses, such as 192.0.2.0/24`),
)

/** `A=true,B=false`: the first use replaces the default, later ones add to it. */
export const mapStringBool: FlagType<Readonly<Record<string, boolean>>> = {
  label: 'mapStringBool',
  parse(text, earlier) {
    const value: Record<string, boolean> = earlier.isDefault ? {} : { ...earlier.value }
    for (const pair of text.split(',').filter((part) => part !== '')) {
      const equals = pair.indexOf('=')
      if (equals < 0) return { ok: false, problem: `"${pair}" is not of the form Name=true or Name=false` }
      const name = pair.slice(0, equals).trim()
      const isOn = parseBool(pair.slice(equals + 1).trim())
      if (isOn === undefined) return { ok: false, problem: `the value of ${name} is neither true nor false` }
      value[name] = isOn
    }
    return { ok: true, value }
  },
  render: (value) =>
    Object.entries(value)
      .map(([name, isOn]) => `${name}=${isOn}`)
      .sort()
      .join(','),
}

/** As in kube-proxy, an empty text leaves the flag as it is, so that a templated `--x=$EMPTY` is harmless. */
export const ip: FlagType<string> = {
  label: 'ip',
  parse(text, earlier) {
    if (text === '') return { ok: true, value: earlier.value }
    return parseIp(text) === undefined
      ? { ok: false, problem: `"${text}" is not a valid IP address` }
      : { ok: true, value: text }
  },
  render: (value) => value,
}

export const ipPort: FlagType<string> = {
  label: 'ipport',
  parse(text, earlier) {
    if (text === '') return { ok: true, value: earlier.value }
    if (parseIp(text) !== undefined) return { ok: true, value: text }
    const parts = splitHostPort(text)
    if (parts === undefined) return { ok: false, problem: `"${text}" is neither an IP address nor IP:port` }
    if (parseIp(parts.host) === undefined) return { ok: false, problem: `"${parts.host}" is not a valid IP address` }
    const isPort = /^\d+$/.test(parts.port) && Number(parts.port) <= 65535
    return isPort ? { ok: true, value: text } : { ok: false, problem: `"${parts.port}" is not a valid port` }
  },
  render: (value) => value,
}

/** Verbosity of the log: klog has 31 bits for it. */
export const level: FlagType<number> = {
  label: 'Level',
  parse: (text) => found(parseLevel(text), `"${text}" is not a whole number between 0 and 2147483647`),
  render: String,
}

export interface VmoduleItem {
  readonly filePattern: string
  readonly verbosity: number
}

/** `pattern=N,…`: verbosity for single source files. Each use adds to the previous ones. */
export const vmodule: FlagType<readonly VmoduleItem[]> = {
  label: 'pattern=N,...',
  parse(text, earlier) {
    const items: VmoduleItem[] = [...earlier.value]
    for (const item of text.split(',').filter((part) => part !== '')) {
      const [filePattern = '', level = '', ...rest] = item.split('=')
      const verbosity = parseLevel(level)
      if (filePattern === '' || verbosity === undefined || rest.length > 0)
        return { ok: false, problem: `"${item}" does not have the pattern=N format` }
      items.push({ filePattern, verbosity })
    }
    return { ok: true, value: items }
  },
  render: (value) => value.map((item) => `${item.filePattern}=${item.verbosity}`).join(','),
}

export const quantity: FlagType<Quantity> = {
  label: 'quantity',
  parse: (text) => found(parseQuantity(text), `"${text}" is not a size like 512, 1k, 2Ki or 3M`),
  render: (value) => value.text,
}

/** Go's strconv.ParseBool, which pflag uses. */
function parseBool(text: string): boolean | undefined {
  if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return true
  if (/^(?:0|f|F|FALSE|false|False)$/.test(text)) return false
  return undefined
}

/** Go accepts prefixes: 0x1f, 0b11, 0o17, and plain 017 is octal. */
function parseInteger(text: string): number | undefined {
  const { sign = '', digits } = /^(?<sign>[-+]?)(?<digits>\d+|0x[\da-f]+|0b[01]+|0o[0-7]+)$/i.exec(text)?.groups ?? {}
  if (digits === undefined) return undefined
  const isOldOctal = /^0\d+$/.test(digits)
  if (isOldOctal && /[89]/.test(digits)) return undefined
  const size = Number(isOldOctal ? `0o${digits.slice(1)}` : digits)
  const value = sign === '-' ? 0 - size : size
  return value >= -2147483648 && value <= 2147483647 ? value : undefined
}

function parseDecimal(text: string): number | undefined {
  const value = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  return Math.abs(value) <= 3.4028234663852886e38 ? value : undefined
}

function parseLevel(text: string): number | undefined {
  return /^\d+$/.test(text) && Number(text) <= 2147483647 ? Number(text) : undefined
}

/** A comma-separated list: the first use replaces the default, later ones append. */
function listOf(label: string, parseItem: (item: string) => Parsed<string>): FlagType<readonly string[]> {
  return {
    label,
    parse(text, earlier) {
      const cells = splitCells(text)
      if (cells === undefined) return { ok: false, problem: `a quote in ${text} is not closed` }
      const items = earlier.isDefault ? [] : [...earlier.value]
      for (const cell of cells) {
        const item = parseItem(cell)
        if (!item.ok) return item
        items.push(item.value)
      }
      return { ok: true, value: items }
    },
    render: (value) => `[${value.join(',')}]`,
  }
}

/** The cells of one CSV line: `a,"b,c"` has two. */
function splitCells(line: string): string[] | undefined {
  if (line === '') return []
  if (!line.includes('"')) return line.split(',')
  const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/g)]
  const length = cells.reduce((sum, [whole]) => sum + whole.length, 0)
  return length === line.length
    ? cells.map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain)
    : undefined
}

function found<Value>(value: Value | undefined, problem: string): Parsed<Value> {
  return value === undefined ? { ok: false, problem } : { ok: true, value }
}
