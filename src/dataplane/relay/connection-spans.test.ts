import { expect, test } from 'vitest'
import type { MeasuredSpan, SpanContext } from '../../core/trace.ts'
import type { DialAttempt, TcpReport, UdpReport } from './connection-report.ts'
import { connectionSpans } from './connection-spans.ts'
import { ConnectionTraces, type TracedDuration } from './connection-traces.ts'

const dead: DialAttempt = {
  endpoint: '10.64.0.1:80',
  isSticky: true,
  endpoints: 2,
  timeoutMs: 250,
  startMs: 1_001,
  endMs: 1_002,
  error: 'ECONNREFUSED',
}
const { error: _, ...answered } = { ...dead, endpoint: '10.64.0.2:80', isSticky: false, timeoutMs: 500 }
const report: TcpReport = {
  protocol: 'TCP',
  id: '1',
  hasEnded: true,
  service: 'shop/web:http',
  client: '[fd00::7]:55050',
  local: '[fd00::1]:37705',
  startMs: 1_000,
  endMs: 5_000,
  result: 'connected',
  attempts: [dead, { ...answered, startMs: 1_002, endMs: 1_005 }],
  copying: { startMs: 1_005, bytesIn: 79, bytesOut: 1562, inEndMs: 2_000 },
}

test('a connection has the spans that users of the userspace mode know, with the attributes of each', () => {
  expect(flat(connectionSpans(report))).toEqual([
    [
      'proxyConnection',
      1_000,
      4_000,
      {
        'client.address': 'fd00::7',
        'client.port': 55_050,
        service_port: 'shop/web:http',
        'network.local.address': 'fd00::1',
        'network.local.port': 37_705,
        result: 'connected',
      },
    ],
    ['.tryConnect', 1_001, 4, { attempts: 2 }],
    [
      '..NextEndpoint',
      1_001,
      0,
      { 'affinity.hit': true, 'affinity.reset': false, 'endpoints.count': 2, endpoint: '10.64.0.1:80' },
    ],
    ['..dial', 1_001, 1, { endpoint: '10.64.0.1:80', timeout_ms: 250, 'error.type': 'ECONNREFUSED' }, 'ECONNREFUSED'],
    [
      '..NextEndpoint',
      1_002,
      0,
      { 'affinity.hit': false, 'affinity.reset': true, 'endpoints.count': 2, endpoint: '10.64.0.2:80' },
    ],
    ['..dial', 1_002, 3, { endpoint: '10.64.0.2:80', timeout_ms: 500 }],
    ['.proxyTCP', 1_005, 3_995, {}],
    ['..copyBytes', 1_005, 995, { direction: 'to backend', bytes: 79 }],
    ['..copyBytes', 1_005, 3_995, { direction: 'from backend', bytes: 1562 }],
  ])
})

test('a connection without an endpoint has failed, in the step that failed', () => {
  const { copying: __, ...rest } = report
  const failed = flat(connectionSpans({ ...rest, result: 'no-endpoint', attempts: [] }))
  expect(failed.map(([name, , , , error]) => [name, error])).toEqual([
    ['proxyConnection', 'no-endpoint'],
    ['.tryConnect', 'no-endpoint'],
    ['..NextEndpoint', 'no-endpoint'],
  ])
  const unreachable = flat(connectionSpans({ ...rest, result: 'unreachable', attempts: [dead] }))
  expect(unreachable.map(([name, , , , error]) => [name, error])).toEqual([
    ['proxyConnection', 'unreachable'],
    ['.tryConnect', 'unreachable'],
    ['..NextEndpoint', undefined],
    ['..dial', 'ECONNREFUSED'],
  ])
  const refused = flat(connectionSpans({ ...rest, result: 'source-not-allowed', attempts: [] }))
  expect(refused.map(([name]) => name)).toEqual(['proxyConnection'])
})

test('a UDP client is one span', () => {
  const client: UdpReport = {
    protocol: 'UDP',
    id: '2',
    hasEnded: true,
    service: 'shop/dns',
    client: '10.64.0.7:5353',
    local: '10.96.0.10:53',
    startMs: 1_000,
    endMs: 1_250,
    endpoint: '10.64.0.2:53',
    datagramsIn: 1,
    datagramsOut: 2,
    bytesIn: 30,
    bytesOut: 400,
    endReason: 'idle',
  }
  expect(flat(connectionSpans(client))).toEqual([
    [
      'udpClient',
      1_000,
      250,
      {
        'client.address': '10.64.0.7',
        'client.port': 5353,
        service_port: 'shop/dns',
        endpoint: '10.64.0.2:53',
        'datagrams.in': 1,
        'datagrams.out': 2,
        'bytes.in': 30,
        'bytes.out': 400,
        'end.reason': 'idle',
      },
    ],
  ])
  expect(connectionSpans({ ...client, endReason: 'no-endpoint' }).error).toBe('no-endpoint')
})

test('a connection that is open for long is one trace: its beginning, then what was since the last report', () => {
  const recorded: { readonly span: MeasuredSpan; readonly parent: SpanContext | undefined }[] = []
  const durations: TracedDuration[] = []
  const tracer = {
    start: () => {
      throw new Error('all is measured before')
    },
    record(span: MeasuredSpan, parent?: SpanContext) {
      recorded.push({ span, parent })
      return { traceId: parent?.traceId ?? `trace ${recorded.length}`, spanId: `span ${recorded.length}` }
    },
  }
  const traces = new ConnectionTraces({ tracer, onDuration: (duration) => durations.push(duration) })
  const open = { ...report, hasEnded: false, endMs: 3_000 }
  traces.add(open)
  expect(durations.map(({ of }) => of)).toEqual(['failed dial', 'connected dial'])
  traces.add({ ...open, endMs: 4_000 })
  traces.add(report)
  traces.add({ ...report, id: 'another' })
  expect(recorded.map(({ parent }) => parent?.spanId)).toEqual([undefined, 'span 1', 'span 1', undefined])
  expect(recorded.map(({ span }) => [span.startMs, span.durationMs, span.attributes?.['connection.open']])).toEqual([
    [1_000, 2_000, true],
    [3_000, 1_000, true],
    [4_000, 1_000, undefined],
    [1_000, 4_000, undefined],
  ])
  expect(flat(recorded[1]?.span ?? connectionSpans(report)).map(([name]) => name)).toEqual([
    'proxyConnection',
    '.proxyTCP',
    '..copyBytes',
    '..copyBytes',
  ])
  expect(durations.slice(2, 3)).toEqual([{ of: 'connection', seconds: 3.995, traceId: 'trace 1', atMs: 5_000 }])
})

type Flat = readonly [name: string, startMs: number, durationMs: number, attributes: object, error?: unknown]

/** Attributes without a value are none. */
function flat(span: MeasuredSpan, depth = 0): readonly Flat[] {
  const { name, startMs, durationMs, attributes = {}, error, children = [] } = span
  const known = Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
  const line = [`${'.'.repeat(depth)}${name}`, startMs, durationMs, known] as const
  return [error === undefined ? line : [...line, error], ...children.flatMap((child) => flat(child, depth + 1))]
}
