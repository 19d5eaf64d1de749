/** The annotations by which a Service says how its connections are to be spread and limited. */
import { parseGoDuration } from '../net/go-duration.ts'
import { shownValue } from '../net/shown-value.ts'
import { oneOf } from './field-checks.ts'
import type { NumberRange, ProblemNotes } from './field-checks.ts'
import type { JsonObject } from './json-reader.ts'
import { parseWeights } from './parse-weights.ts'
import { isInPortRange, parsePortRange } from './port-range.ts'
import { algorithms, ipvsSchedulers } from './records.ts'
import type { HealthCheck, PortRange, ServicePort, ServiceRecord, TrafficWishes } from './records.ts'

/** The annotation of each wish. */
export const trafficAnnotations = {
  algorithm: 'fairlead.dev/algorithm',
  ipvsScheduler: 'fairlead.dev/ipvs-scheduler',
  weights: 'fairlead.dev/weights',
  slowStartMs: 'fairlead.dev/slow-start',
  maxConnectionAgeMs: 'fairlead.dev/max-connection-age',
  maxConnections: 'fairlead.dev/max-connections',
  maxConnectionsPerEndpoint: 'fairlead.dev/max-connections-per-endpoint',
  maxDialsPerSecond: 'fairlead.dev/max-dials-per-second',
  maxDialsPerSecondPerEndpoint: 'fairlead.dev/max-dials-per-second-per-endpoint',
  healthCheck: 'fairlead.dev/health-check',
  portRange: 'fairlead.dev/port-range',
} as const satisfies Record<keyof TrafficWishes, string>

/** Before it could be said for every mode. */
const oldAlgorithmAnnotation = 'fairlead.dev/balancing'

const second = 1_000
const day = 86_400 * second
export const slowStartRange: NumberRange = { min: second, max: day }
export const connectionAgeRange: NumberRange = { min: second, max: 365 * day }
export const limitRange: NumberRange = { min: 1, max: 10_000_000 }

/** Returns no field for a Service without such annotations, which is nearly every one. */
export function parseTraffic(
  annotations: JsonObject,
  ports: readonly ServicePort[],
  notes: ProblemNotes,
): Pick<ServiceRecord, 'traffic'> {
  const found: Partial<Record<keyof TrafficWishes, unknown>> = {}
  for (const [wish, annotation] of wishes) {
    const text = textOf(annotations, annotation, notes)
    if (text === undefined) continue
    const value = readers[wish](text, `metadata.annotations[${annotation}]`, notes, ports)
    if (value !== undefined) found[wish] ??= value
  }
  return Object.keys(found).length === 0 ? {} : { traffic: found as TrafficWishes }
}

const wishes: readonly (readonly [keyof TrafficWishes, string])[] = [
  ...(Object.entries(trafficAnnotations) as [keyof TrafficWishes, string][]),
  ['algorithm', oldAlgorithmAnnotation],
]

function textOf(annotations: JsonObject, annotation: string, notes: ProblemNotes): string | undefined {
  const value = annotations[annotation]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value.trim()
  notes.problem(`metadata.annotations[${annotation}]`, `must be a string, not ${shownValue(value)}`)
  return undefined
}

type Reader<T> = (text: string, field: string, notes: ProblemNotes, ports: readonly ServicePort[]) => T | undefined

const readers: { readonly [K in keyof TrafficWishes]-?: Reader<TrafficWishes[K]> } = {
  algorithm: (text, field, notes) => oneOf(text, algorithms, field, notes),
  ipvsScheduler: (text, field, notes) => oneOf(text, ipvsSchedulers, field, notes),
  weights: parseWeights,
  slowStartMs: durationIn(slowStartRange),
  maxConnectionAgeMs: durationIn(connectionAgeRange),
  maxConnections: limit,
  maxConnectionsPerEndpoint: limit,
  maxDialsPerSecond: limit,
  maxDialsPerSecondPerEndpoint: limit,
  healthCheck,
  portRange,
}

function durationIn({ min, max }: NumberRange): Reader<number> {
  return (text, field, notes) => {
    const ms = parseGoDuration(text)
    if (ms !== undefined && ms >= min && ms <= max) return Math.round(ms)
    const [least, most] = [min / second, max / day]
    notes.problem(
      field,
      `must be a time from ${least}s to ${most === 1 ? 'a day' : `${most} days`}, such as 30s, 10m or 1h30m, not ${shownValue(text)}`,
    )
    return undefined
  }
}

function limit(text: string, field: string, notes: ProblemNotes): number | undefined {
  const { min, max } = limitRange
  const number = /^[1-9]\d{0,7}$/.test(text) ? Number(text) : Number.NaN
  if (number <= max) return number
  notes.problem(field, `must be a whole number from ${min} to ${max}, not ${shownValue(text)}`)
  return undefined
}

/** A path that needs no escaping in a request line. */
export const healthPathPattern = /^\/[\w\-./~!$&'()*+,;=:@%?]{0,255}$/

function healthCheck(text: string, field: string, notes: ProblemNotes): HealthCheck | undefined {
  if (text === 'tcp') return { kind: 'tcp' }
  const path = text.startsWith('http:') ? text.slice('http:'.length) : ''
  if (healthPathPattern.test(path)) return { kind: 'http', path }
  notes.problem(field, `must be tcp, or http: and a path such as http:/healthz, not ${shownValue(text)}`)
  return undefined
}

/** The port of the Service that is in the range says which protocol it has, and whose endpoints serve it. */
function portRange(
  text: string,
  field: string,
  notes: ProblemNotes,
  ports: readonly ServicePort[],
): PortRange | undefined {
  const range = parsePortRange(text)
  if (range === undefined)
    notes.problem(
      field,
      `must be two ports with a dash between them, the lower one first, such as 30000-30100, not ${shownValue(text)}`,
    )
  else if (ports.some(({ port }) => isInPortRange(port, range))) return range
  else
    notes.problem(field, `no port of the Service is in ${text}: add one, whose endpoints and protocol the range gets`)
  return undefined
}
