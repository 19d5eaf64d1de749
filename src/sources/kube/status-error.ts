/** Turns a refusal of the API server (an HTTP status, a Status object) into a KubeError. */
import { asArray, asNumber, asObject, asString } from './unchecked-json.ts'
import { KubeError } from './kube-error.ts'
import type { KubeErrorReason } from './kube-error.ts'
import { shortened } from '../../net/shown-value.ts'

/** A refusal that lists many fields is worth reading; a megabyte is not. */
const longestMessage = 2_000

/** A server that asks for a longer wait is asked again anyway: a node must not stay stale for an hour. */
const longestRetryAfterMs = 5 * 60_000

interface Refusal {
  /** What was being done, e.g. `GET /api/v1/services`. */
  readonly doing: string
  readonly httpStatus: number
  readonly retryAfter: string | undefined
  readonly body: string
  readonly nowMs: number
}

export function errorFromResponse({ doing, httpStatus, retryAfter, body, nowMs }: Refusal): KubeError {
  const status = parseStatus(body)
  return statusError(doing, status, {
    httpStatus,
    retryAfterMs: parseRetryAfter(retryAfter, nowMs),
    fallbackText: body.slice(0, 200).trim(),
  })
}

/** The object of an ERROR event in a watch. */
export function errorFromStatusObject(doing: string, object: unknown): KubeError {
  return statusError(doing, asObject(object), { httpStatus: 0, retryAfterMs: undefined, fallbackText: 'no details' })
}

function statusError(
  doing: string,
  status: Readonly<Record<string, unknown>>,
  http: { httpStatus: number; retryAfterMs: number | undefined; fallbackText: string },
): KubeError {
  const code = asNumber(status['code']) ?? http.httpStatus
  const details = asObject(status['details'])
  const statusRetry = asNumber(details['retryAfterSeconds'])
  const retryAfterMs = http.retryAfterMs ?? (statusRetry === undefined ? undefined : cap(statusRetry * 1000))
  const message = asString(status['message']) ?? http.fallbackText
  return new KubeError(
    reasonOf(code, status),
    `${doing}: the API server answered ${code}: ${shortened(message, longestMessage)}`,
    {
      code,
      retryAfterMs,
    },
  )
}

function reasonOf(code: number, status: Readonly<Record<string, unknown>>): KubeErrorReason {
  const reason = asString(status['reason'])
  if (reason === 'Expired' || reason === 'Gone' || code === 410) return 'gone'
  if (isVersionTooLarge(status)) return 'version-unavailable'
  if (code >= 500) return 'server-error'
  switch (code) {
    case 401:
      return 'unauthorized'
    case 403:
      return 'forbidden'
    case 404:
      return 'not-found'
    case 409:
      return 'conflict'
    case 429:
      return 'too-many-requests'
    default:
      return code >= 400 ? 'invalid' : 'protocol'
  }
}

/** The server's history is behind the version we asked for, for example after etcd was restored from a backup. */
function isVersionTooLarge(status: Readonly<Record<string, unknown>>): boolean {
  const causes = asArray(asObject(status['details'])['causes'])
  return causes.some((cause) => asObject(cause)['reason'] === 'ResourceVersionTooLarge')
}

function parseStatus(body: string): Readonly<Record<string, unknown>> {
  try {
    return asObject(JSON.parse(body))
  } catch {
    return {} // A proxy or load balancer in between answers in HTML or plain text.
  }
}

function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d+$/.test(header)) return cap(Number(header) * 1000)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : cap(Math.max(0, date - nowMs))
}

function cap(ms: number): number {
  return Math.min(ms, longestRetryAfterMs)
}
