import type { ApiDocument, ApiResponse } from '../testing/api-client.ts'
import type { Scenario } from './scenario.ts'

/**
 * An answer without what two servers cannot agree on: versions, times, and the addresses and ports that a server
 * chose itself. Of an error the substance stays (code, reason, fields), not the wording.
 */
export function comparable(response: ApiResponse, scenario: Scenario): unknown {
  if (response.body.kind === 'Status') return { code: response.status, ...comparableStatus(response.body) }
  return { code: response.status, body: withoutChosenValues(response.body, valuesIn(scenario.steps)) }
}

interface StatusDetails {
  readonly name?: string
  readonly causes?: readonly { readonly field?: string; readonly reason?: string }[]
}

function comparableStatus(status: ApiDocument): object {
  const details = status['details'] as StatusDetails | undefined
  const causes = details?.causes?.map((cause) => `${cause.field}: ${cause.reason}`)
  return { status: status['status'], reason: status.reason, name: details?.name, causes: causes?.sort() }
}

type Values = ReadonlySet<unknown>

/** Every string and number of the requests: a value that the client chose is compared, whatever it looks like. */
function valuesIn(value: unknown, found = new Set<unknown>()): Values {
  if (typeof value !== 'object' || value === null) return found.add(value)
  for (const inner of Object.values(value)) valuesIn(inner, found)
  return found
}

const forgotten: ReadonlySet<string> = new Set(['uid', 'resourceVersion', 'selfLink', 'continue', 'time'])

function withoutChosenValues(value: unknown, asked: Values, field = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => withoutChosenValues(item, asked, field))
    // They are in the order of their times, which have whole seconds: two runs need not agree.
    return field === 'managedFields' ? items.map((item) => JSON.stringify(item)).sort() : items
  }
  if (typeof value === 'object' && value !== null) {
    const isGenerated = 'generateName' in value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !forgotten.has(key))
        .map(([key, inner]) => [
          key,
          key === 'name' && isGenerated ? '<generated>' : withoutChosenValues(inner, asked, key),
        ]),
    )
  }
  return asked.has(value) ? value : (placeholder(value, field) ?? value)
}

function placeholder(value: unknown, field: string): string | undefined {
  if (/(?:time|timestamp)$/i.test(field)) return '<time>'
  if (/^clusterIPs?$/.test(field) && typeof value === 'string') {
    if (value.startsWith('10.96.')) return '<IPv4 of the range>'
    if (value.startsWith('fd00:10:96::')) return '<IPv6 of the range>'
  }
  if (/nodePort$/i.test(field) && typeof value === 'number' && value >= 30000 && value <= 32767) return '<node port>'
  return undefined
}
