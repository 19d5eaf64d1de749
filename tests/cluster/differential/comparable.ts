import type { Answer, JsonObject } from '../../../src/embedded/testing/api-client.ts'
import type { Scenario } from './scenario.ts'

/**
 * An answer without what two servers cannot agree on: versions, times, and the addresses and ports that a server
 * chose itself. Of an error the substance stays (code, reason, fields), not the wording.
 */
export function comparable(
  { status, json, text }: Pick<Answer, 'status' | 'json' | 'text'>,
  scenario: Scenario,
): object {
  if (json['kind'] === 'Status') return { code: status, ...comparableStatus(json) }
  // Not every answer is JSON.
  if (json['kind'] === undefined) return { code: status, text }
  return { code: status, object: withoutChosenValues(json, valuesIn(scenario.steps)) }
}

interface StatusDetails {
  readonly name?: string
  readonly causes?: readonly { readonly field?: string; readonly reason?: string }[]
}

function comparableStatus(status: JsonObject): object {
  const details = status['details'] as StatusDetails | undefined
  const causes = details?.causes?.map((cause) => `${cause.field}: ${cause.reason}`)
  return {
    status: status['status'] as unknown,
    reason: status['reason'] as unknown,
    name: details?.name,
    causes: causes?.sort(),
  }
}

type Values = ReadonlySet<unknown>

/** Every string and number of the requests: a value that the client chose is compared, whatever it looks like. */
function valuesIn(value: unknown, found = new Set<unknown>()): Values {
  if (typeof value !== 'object' || value === null) return found.add(value)
  for (const inner of Object.values(value)) valuesIn(inner, found)
  return found
}

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
}

function signer({ manager, operation, subresource }: ManagedFields): string {
  return `${manager} ${operation} ${subresource}`
}

/** The description of a column of a table is prose. */
const forgotten: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'selfLink',
  'continue',
  'time',
  'description',
])

function withoutChosenValues(value: unknown, asked: Values, field = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => withoutChosenValues(item, asked, field))
    // They are in the order of their times, which have whole seconds: two runs need not agree.
    return field === 'managedFields'
      ? (items as ManagedFields[]).sort((a, b) => (signer(a) < signer(b) ? -1 : 1))
      : items
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
  if (/(?:time|timestamp)$/i.test(field) && typeof value === 'string') return '<time>'
  if (field === 'cells' && typeof value === 'string') return placeholderOfCell(value)
  if (/^clusterIPs?$/.test(field) && typeof value === 'string') {
    if (value.startsWith('10.96.')) return '<IPv4 of the range>'
    if (value.startsWith('fd00:10:96::')) return '<IPv6 of the range>'
  }
  if (/nodePort$/i.test(field) && typeof value === 'number' && value >= 30000 && value <= 32767) return '<node port>'
  return undefined
}

/** A cell of a table is text: an age, an address, `80:30123/TCP`. */
function placeholderOfCell(text: string): string {
  if (/^(?:\d+[smh])+$/.test(text)) return '<age>'
  if (text.startsWith('10.96.')) return '<IPv4 of the range>'
  return text.replaceAll(/:3[0-2]\d{3}\//g, ':<node port>/')
}
