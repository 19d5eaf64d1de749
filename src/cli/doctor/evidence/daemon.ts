/** The proxy itself, if it runs: what its health port, its metrics and its debug pages say. */
import { splitHostPort } from '../../../config/host-port.ts'
import type { ProxyConfig } from '../../../config/proxy-config.ts'
import type { HealthBody } from '../../../core/health/proxy-health.ts'
import { isUnspecified } from '../../../net/ip.ts'
import { askDaemon } from '../../ask/ask-daemon.ts'
import { httpGet } from '../../ask/http-get.ts'
import type { HttpAnswer } from '../../ask/http-get.ts'
import type { Host } from '../../host/host.ts'
import { CommandError } from '../../program.ts'

export type DaemonFacts =
  /** Before the start, or without a health port to ask. */
  | { readonly kind: 'not-asked' }
  /** Nobody is there, or somebody does not answer. */
  | { readonly kind: 'silent'; readonly address: string; readonly reason: string; readonly isSlow: boolean }
  /** Somebody does, but not Fairlead. */
  | { readonly kind: 'stranger'; readonly address: string; readonly answer: string }
  | RunningDaemon

export interface RunningDaemon {
  readonly kind: 'runs'
  readonly address: string
  readonly isHealthy: boolean
  readonly health: HealthBody
  /** What `/healthz?verbose` adds. */
  readonly detail: Readonly<Record<string, unknown>>
  /** By name and labels, as `/metrics` prints them; undefined where it does not answer. */
  readonly metrics: ReadonlyMap<string, number> | undefined
  /** What others have changed in the last hour, or is not repaired, newest first; undefined where it does not say. */
  readonly drift: readonly string[] | undefined
}

/** A machine that is busy enough to need a doctor may take its time. */
const patienceMs = 15_000

export async function readDaemon(
  config: Pick<ProxyConfig, 'healthzBindAddress' | 'metricsBindAddress'>,
  server: string,
  host: Pick<Host, 'platform' | 'env' | 'clock' | 'process'>,
  signal: AbortSignal,
): Promise<DaemonFacts> {
  const address = reachable(config.healthzBindAddress)
  if (address === undefined) return { kind: 'not-asked' }
  let answer: HttpAnswer
  try {
    answer = await get(`${address}/healthz?verbose`, signal)
  } catch (error) {
    signal.throwIfAborted()
    const isSlow = ['AbortError', 'TimeoutError'].includes((error as Error).name)
    const reason = isSlow ? `no answer in ${patienceMs / 1000} s` : (error as Error).message
    return { kind: 'silent', address, reason, isSlow }
  }
  const health = parseJson(answer.body) as (HealthBody & { readonly detail?: unknown }) | undefined
  const { detail } = health ?? {}
  if (health === undefined || typeof detail !== 'object' || detail === null)
    return { kind: 'stranger', address, answer: `HTTP ${answer.status}: ${answer.body.trim().slice(0, 200)}` }
  const metricsAddress = reachable(config.metricsBindAddress)
  return {
    kind: 'runs',
    address,
    isHealthy: answer.status === 200,
    health,
    detail: detail as Record<string, unknown>,
    metrics: metricsAddress === undefined ? undefined : await readMetrics(metricsAddress, signal),
    drift: await readDrift(server === '' ? (metricsAddress ?? '') : server, host, signal),
  }
}

/** A server on all addresses is asked on loopback, because only there it says more. */
function reachable(bindAddress: string): string | undefined {
  const { host = '', port = '' } = splitHostPort(bindAddress) ?? {}
  if (port === '') return undefined
  const ip = host === '' || isUnspecified(host) ? '127.0.0.1' : host
  return `http://${ip.includes(':') ? `[${ip}]` : ip}:${port}`
}

function get(url: string, signal: AbortSignal): Promise<HttpAnswer> {
  const parsed = new URL(url)
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  return httpGet({ kind: 'http', url: parsed }, `${parsed.pathname}${parsed.search}`, patience)
}

async function readMetrics(address: string, signal: AbortSignal): Promise<ReadonlyMap<string, number> | undefined> {
  try {
    const { status, body } = await get(`${address}/metrics`, signal)
    return status === 200 ? parseMetrics(body) : undefined
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

export function parseMetrics(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.flatMap((line) => {
      const [, name, value] = /^(\w+(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?) (\S+)/.exec(line) ?? []
      return name === undefined ? [] : [[name, Number(value)] as const]
    }),
  )
}

async function readDrift(
  server: string,
  host: Pick<Host, 'platform' | 'env' | 'clock' | 'process'>,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  if (server === '') return undefined
  try {
    const answer = await askDaemon('/debug/drift', {}, { server, host }, signal)
    return answer.kind === 'json' ? lateDrift(answer.value, host.clock.now()) : undefined
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return undefined
  }
}

const lateMs = 60 * 60_000

interface DriftEntry {
  readonly at: string
  readonly family: string
  readonly found: string
  readonly times: number
  readonly repairedAfterSeconds: number | null
}

export function lateDrift(page: unknown, nowMs: number): readonly string[] | undefined {
  const entries = (page as { readonly drift?: readonly DriftEntry[] } | null)?.drift
  if (!Array.isArray(entries)) return undefined
  return (entries as readonly DriftEntry[])
    .filter(({ at, repairedAfterSeconds }) => repairedAfterSeconds === null || nowMs - Date.parse(at) < lateMs)
    .map(({ at, family, found, times, repairedAfterSeconds }) => {
      const repair = repairedAfterSeconds === null ? 'not repaired' : `repaired after ${repairedAfterSeconds} s`
      return `${at} ${family}: ${found}${times > 1 ? `, ${times} times` : ''}; ${repair}`
    })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
