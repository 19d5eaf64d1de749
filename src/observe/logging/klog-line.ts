import type { LogFields } from '../../core/logger.ts'
import { baseName } from './call-site.ts'
import { goQuote } from './go-quote.ts'
import type { LogRecord } from './log-record.ts'
import { logValue } from './log-value.ts'

/**
 * One line as klog writes it: `I1115 09:00:00.123456    1234 file.ts:12] "message" key="value" n=5`. One intended
 * difference: klog spreads a value with newlines over several lines; here it is quoted.
 */
export function renderKlogLine(record: LogRecord, pid: number): string {
  const { severity, message, bound, fields, caller } = record
  const merged: LogFields = { ...bound, ...fields }
  const pairs = severity === 'error' && 'err' in merged ? { err: merged.err, ...merged } : merged
  const header = `${letters[severity]}${timestamp(record.atMs)} ${String(pid).padStart(7)}`
  return `${header} ${baseName(caller.file)}:${caller.line}] ${goQuote(message)}${renderPairs(pairs)}\n`
}

const letters = { info: 'I', warn: 'W', error: 'E' } as const

/** `mmdd hh:mm:ss.uuuuuu` in local time. */
function timestamp(atMs: number): string {
  const micros = Math.round(atMs * 1000)
  const date = new Date(Math.floor(micros / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const day = two(date.getMonth() + 1) + two(date.getDate())
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return `${day} ${time}.${String(micros % 1_000_000).padStart(6, '0')}`
}

function renderPairs(fields: LogFields): string {
  let text = ''
  for (const [key, value] of Object.entries(fields)) {
    const rendered = renderValue(value)
    if (rendered !== undefined) text += ` ${key}=${rendered}`
  }
  return text
}

function renderValue(value: unknown): string | undefined {
  const shape = logValue(value)
  switch (shape?.kind) {
    case undefined:
      return undefined
    case 'text':
      return goQuote(shape.text)
    case 'bare':
      return shape.text
    case 'reference':
      return goQuote(shape.namespace === '' ? shape.name : `${shape.namespace}/${shape.name}`)
    case 'json':
      return escapeLikeGo(shape.json)
    default:
      return shape satisfies never
  }
}

/** Go's JSON encoder escapes what could end a script element. klog uses it for everything that is not a scalar. */
function escapeLikeGo(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
