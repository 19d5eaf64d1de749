/** The spans of one connection, from what an engine reports about it. */
import type { MeasuredSpan } from '../../core/trace.ts'
import type { ConnectionReport, Copying, DialAttempt, TcpReport, UdpReport } from './connection-report.ts'

/**
 * A report of a connection that has been reported before covers what was since then: how it began is in the first one.
 */
export function connectionSpans(report: ConnectionReport, sinceMs?: number): MeasuredSpan {
  return report.protocol === 'TCP' ? tcpSpans(report, sinceMs) : udpSpan(report, sinceMs)
}

function tcpSpans(report: TcpReport, sinceMs: number | undefined): MeasuredSpan {
  const { service, client, local, result, copying, attempts, startMs, endMs, hasEnded } = report
  const [address, port] = partsOf(client)
  const [localAddress, localPort] = partsOf(local)
  const isServed = result === 'connected' || result === 'client-left'
  const wasDialled = attempts.length > 0 || result === 'no-endpoint'
  return {
    name: 'proxyConnection',
    ...period(sinceMs ?? startMs, endMs),
    attributes: {
      'client.address': address,
      'client.port': port,
      service_port: service,
      'network.local.address': localAddress,
      'network.local.port': localPort,
      result,
      ...(!hasEnded && { 'connection.open': true }),
    },
    ...(!isServed && { error: result }),
    children: [
      ...(sinceMs === undefined && wasDialled ? [tryConnect(report)] : []),
      ...(copying === undefined ? [] : [proxyTcp(copying, sinceMs ?? copying.startMs, endMs)]),
    ],
  }
}

function tryConnect({ attempts, result, startMs, endMs, copying }: TcpReport): MeasuredSpan {
  const lastMs = attempts.at(-1)?.endMs ?? endMs
  const error = copying === undefined && result !== 'client-left' ? result : undefined
  return {
    name: 'tryConnect',
    ...period(attempts[0]?.startMs ?? startMs, lastMs),
    attributes: { attempts: attempts.length },
    ...(error !== undefined && { error }),
    children: [
      ...attempts.flatMap((attempt, index) => [nextEndpoint(attempt, index > 0), dial(attempt)]),
      // It was asked once more, in vain.
      ...(result === 'no-endpoint' ? [noEndpoint(lastMs, attempts.length > 0)] : []),
    ],
  }
}

/** It takes less time than can be measured. */
function nextEndpoint({ startMs, endpoint, endpoints, isSticky }: DialAttempt, isReset: boolean): MeasuredSpan {
  return {
    name: 'NextEndpoint',
    ...period(startMs, startMs),
    attributes: { 'affinity.hit': isSticky, 'affinity.reset': isReset, 'endpoints.count': endpoints, endpoint },
  }
}

function noEndpoint(atMs: number, isReset: boolean): MeasuredSpan {
  const attributes = { 'affinity.hit': false, 'affinity.reset': isReset, 'endpoints.count': 0 }
  return { name: 'NextEndpoint', ...period(atMs, atMs), attributes, error: 'no-endpoint' }
}

function dial({ startMs, endMs, endpoint, timeoutMs, error }: DialAttempt): MeasuredSpan {
  return {
    name: 'dial',
    ...period(startMs, endMs),
    attributes: { endpoint, timeout_ms: timeoutMs, 'error.type': error },
    ...(error !== undefined && { error }),
  }
}

function proxyTcp(copying: Copying, fromMs: number, endMs: number): MeasuredSpan {
  const { bytesIn, bytesOut, inEndMs = endMs, outEndMs = endMs, error } = copying
  const copyBytes = (direction: string, bytes: number, untilMs: number): MeasuredSpan => ({
    name: 'copyBytes',
    ...period(fromMs, Math.max(fromMs, untilMs)),
    attributes: { direction, bytes },
    ...(error !== undefined && { error }),
  })
  return {
    name: 'proxyTCP',
    ...period(fromMs, endMs),
    children: [copyBytes('to backend', bytesIn, inEndMs), copyBytes('from backend', bytesOut, outEndMs)],
  }
}

const goodEnds: ReadonlySet<UdpReport['endReason']> = new Set([
  'open',
  'idle',
  'endpoint-left',
  'too-many-clients',
  'stopped',
])

function udpSpan(report: UdpReport, sinceMs: number | undefined): MeasuredSpan {
  const { client, service, endpoint, startMs, endMs, endReason } = report
  const [address, port] = partsOf(client)
  return {
    name: 'udpClient',
    ...period(sinceMs ?? startMs, endMs),
    attributes: {
      'client.address': address,
      'client.port': port,
      service_port: service,
      endpoint,
      'datagrams.in': report.datagramsIn,
      'datagrams.out': report.datagramsOut,
      'bytes.in': report.bytesIn,
      'bytes.out': report.bytesOut,
      'end.reason': endReason,
    },
    ...(!goodEnds.has(endReason) && { error: endReason }),
  }
}

function period(startMs: number, endMs: number): Pick<MeasuredSpan, 'startMs' | 'durationMs'> {
  return { startMs, durationMs: Math.max(0, endMs - startMs) }
}

/** Of `1.2.3.4:5` or `[::1]:5`. */
function partsOf(address: string): readonly [ip: string, port: number] {
  const colon = address.lastIndexOf(':')
  return [address.slice(0, colon).replace(/^\[|\]$/g, ''), Number(address.slice(colon + 1))]
}
