/** The table that `fairlead top` shows. */
import type { EndpointRow, SortKey, TrafficRow, TrafficTable } from '../../observe/traffic/traffic-rows.ts'
import { bytesOf, failuresOf } from '../../observe/traffic/traffic-rows.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'

export interface TopView {
  readonly sort: SortKey
  readonly nowMs: number
  readonly terminal: Terminal
}

interface Column {
  readonly title: string
  readonly sort?: SortKey
  readonly cell: (row: TrafficRow | EndpointRow, nowMs: number) => string
}

const columns: readonly Column[] = [
  { title: 'CONNECTIONS', sort: 'connections', cell: ({ connections }) => count(connections) },
  { title: 'NEW/S', sort: 'rate', cell: ({ connectionRate }) => rate(connectionRate) },
  { title: 'OPEN', sort: 'open', cell: ({ open }) => count(open) },
  { title: 'BYTES', sort: 'bytes', cell: (row) => size(bytesOf(row)) },
  { title: 'BYTES/S', cell: ({ byteRate }) => size(byteRate) },
  { title: 'FAILED', sort: 'failures', cell: (row) => count(failed(row)) },
  { title: 'SKEW', sort: 'skew', cell: (row) => ('skew' in row && row.skew ? row.skew.ratio.toFixed(1) : '-') },
  { title: 'LAST USE', sort: 'last-use', cell: ({ lastUsed }, nowMs) => ago(lastUsed, nowMs) },
]

export function renderTop(table: TrafficTable, { sort, nowMs, terminal }: TopView): string {
  const rows = table.services.flatMap((service) => [
    [`${service.service} ${service.protocol}${service.family === 'ipv6' ? ' IPv6' : ''}`, ...cells(service, nowMs)],
    ...(service.endpoints ?? []).map((endpoint) => [
      `  ${endpoint.address}${endpoint.isGone === true ? ' (gone)' : ''}`,
      ...cells(endpoint, nowMs),
    ]),
  ])
  const titles = columns.map(({ title, sort: key }) => (key === sort ? `${title}*` : title))
  const all = [['SERVICE', ...titles], ...rows]
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? []
  const width = terminal.columns ?? Number.POSITIVE_INFINITY
  const lines = all.map((row) => fit(row.map((cell, at) => pad(cell, widths[at] ?? 0, at)).join('  '), width))
  const [head = '', ...body] = lines
  return [paint(terminal, 'bold', head), ...body].map((line) => `${line}\n`).join('')
}

/** What is shown, what is not, and how old it is. */
export function renderSummary({ readings, bytes, total, services, notes }: TrafficTable, nowMs: number): string {
  const shown = total > services.length ? `${services.length} of ${total}` : String(total)
  const seconds = Math.max(0, ...readings.map(({ at }) => (nowMs - Date.parse(at)) / 1000))
  return `${shown} Service ${total === 1 ? 'port' : 'ports'}, read ${Math.round(seconds)} s ago${[aboutBytes[bytes], ...notes].map((note) => `; ${note}`).join('')}`
}

const aboutBytes: Readonly<Record<TrafficTable['bytes'], string>> = {
  all: 'bytes of all connections',
  'of open connections': 'bytes of open connections',
  unknown: 'bytes unknown',
}

function cells(row: TrafficRow | EndpointRow, nowMs: number): readonly string[] {
  return columns.map(({ cell }) => cell(row, nowMs))
}

function failed(row: TrafficRow | EndpointRow): number | undefined {
  const isKnown = row.dialFailures !== undefined || ('turnedAway' in row && row.turnedAway !== undefined)
  return isKnown ? failuresOf(row) : undefined
}

function count(value: number | undefined): string {
  return value === undefined ? '-' : String(value)
}

function rate(value: number | undefined): string {
  if (value === undefined) return '-'
  return value === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)
}

const units = ['B', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']

function size(bytes: number | undefined): string {
  if (bytes === undefined) return '-'
  let [value, unit] = [bytes, 0]
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 ? value.toFixed(0) : value.toFixed(1)}${units[unit]}`
}

function ago(time: string | undefined, nowMs: number): string {
  if (time === undefined) return '-'
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)}h` : `${Math.round(seconds / 86_400)}d`
}

/** Names to the left, numbers to the right. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width)
}

function fit(line: string, width: number): string {
  return line.trimEnd().slice(0, width)
}
