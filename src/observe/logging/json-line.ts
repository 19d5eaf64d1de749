import type { LogFields } from '../../core/logger.ts'
import { shortPath } from './call-site.ts'
import type { LogRecord } from './log-record.ts'
import { logValue } from './log-value.ts'

/**
 * One line as Kubernetes writes it with --logging-format=json: `ts` in milliseconds with a fraction, `v` on everything
 * but errors, `err` last on errors.
 */
export function renderJsonLine(record: LogRecord): string {
  const { caller, severity } = record
  const isError = severity === 'error'
  const bound = without(record.bound, [...Object.keys(record.fields), ...(isError ? ['err'] : [])])
  const fields = isError ? without(record.fields, ['err']) : record.fields
  const members = [
    `"ts":${Math.round(record.atMs * 1000) / 1000}`,
    `"caller":${JSON.stringify(`${shortPath(caller.file)}:${caller.line}`)}`,
    `"msg":${JSON.stringify(record.message)}`,
    ...renderMembers(bound),
    ...(isError ? [] : [`"v":${record.level}`]),
    ...renderMembers(fields),
    ...(isError ? renderMembers({ err: record.fields.err ?? record.bound.err }) : []),
  ]
  return `{${members.join(',')}}\n`
}

/** Half of all readers refuse JSON with a key twice, so fields of the call replace those of the logger. */
function without(fields: LogFields, keys: readonly string[]): LogFields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key)))
}

function renderMembers(fields: LogFields): string[] {
  const members: string[] = []
  for (const [key, value] of Object.entries(fields)) {
    const rendered = renderValue(value)
    if (rendered !== undefined) members.push(`${JSON.stringify(key)}:${rendered}`)
  }
  return members
}

function renderValue(value: unknown): string | undefined {
  const shape = logValue(value)
  switch (shape?.kind) {
    case undefined:
      return undefined
    case 'text':
      return JSON.stringify(shape.text)
    case 'bare':
      return shape.text
    case 'reference':
      return JSON.stringify({ name: shape.name, ...(shape.namespace !== '' && { namespace: shape.namespace }) })
    case 'json':
      return shape.json
    default:
      return shape satisfies never
  }
}
