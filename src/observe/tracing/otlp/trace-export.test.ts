import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { gunzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import type { SpanRecord } from '../../../core/trace.ts'
import { openTraceExport } from './open-trace-export.ts'
import { readTraceTarget } from './otlp-settings.ts'
import type { TraceExport } from './trace-export.ts'

/** A collector that takes everything, or answers as it is told. */
class Collector {
  readonly requests: { readonly request: IncomingMessage; readonly body: Buffer }[] = []
  status = 200
  readonly #server: Server
  constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        this.requests.push({ request, body: Buffer.concat(parts) })
        if (this.status > 0) response.writeHead(this.status).end()
      })
    })
  }

  async listen(port = 0): Promise<number> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function collector(): Promise<{ readonly collector: Collector; readonly port: number }> {
  const it = new Collector()
  cleanups.push(() => it.close())
  return { collector: it, port: await it.listen() }
}

async function exportTo(port: number, env: NodeJS.ProcessEnv = {}, files: Readonly<Record<string, string>> = {}) {
  const read = readTraceTarget(`http://127.0.0.1:${port}`, { OTEL_BSP_SCHEDULE_DELAY: '1', ...env })
  if (!read.ok || read.target.settings === undefined) throw new Error(JSON.stringify(read))
  const counts = { sent: 0, dropped: 0 }
  const log = new RecordingLogger()
  const traces = await openTraceExport({
    settings: read.target.settings,
    version: '1.2.3',
    resource: { 'k8s.node.name': 'node-a' },
    readTextFile: (path) =>
      path in files ? Promise.resolve(files[path] ?? '') : Promise.reject(new Error('ENOENT: no such file')),
    metrics: { spans: (result, count) => (counts[result] += count) },
    clock: systemClock,
    log,
  })
  return { traces, counts, log, said: () => log.lines.map(({ level, message }) => `${level}: ${message}`) }
}

function tree(name: string, children: readonly SpanRecord[] = [], traceId = 'a'.repeat(32)): SpanRecord {
  return {
    name,
    context: { traceId, spanId: 'b'.repeat(16) },
    links: [],
    startMs: 1_700_000_000_000.25,
    durationMs: 1.5,
    attributes: { 'proxy.mode': 'nftables' },
    children,
  }
}

function manySpans(count: number): SpanRecord {
  return tree(
    'root',
    Array.from({ length: count - 1 }, (_, at) => tree(`child-${at}`)),
  )
}

async function ended(traces: TraceExport): Promise<void> {
  await traces[Symbol.asyncDispose]()
}

test('a tree arrives as protobuf over HTTP, with headers, compressed, and is counted', async () => {
  const { collector: it, port } = await collector()
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' }
  const { traces, counts } = await exportTo(port, { ...headers, OTEL_SERVICE_NAME: 'edge' })
  traces.finished(tree('syncProxyRules', [tree('plan')]))
  await ended(traces)
  expect(counts).toEqual({ sent: 2, dropped: 0 })
  const [{ request, body } = { request: undefined, body: Buffer.of() }] = it.requests
  expect(request?.url).toBe('/v1/traces')
  expect(request?.headers).toMatchObject({
    'content-type': 'application/x-protobuf',
    authorization: 'Bearer x',
    'user-agent': expect.stringMatching(/^fairlead\/1\.2\.3 OTel-OTLP-Exporter-JavaScript/),
  })
  const text = gunzipSync(body).toString('latin1')
  for (const word of ['syncProxyRules', 'plan', 'proxy.mode', 'nftables', 'edge', 'node-a', '1.2.3'])
    expect(text).toContain(word)
})

test('what does not fit into the queue is dropped whole, and counted', async () => {
  const { port } = await collector()
  const { traces, counts } = await exportTo(port, {
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  })
  traces.finished(manySpans(6))
  traces.finished(manySpans(6))
  expect(counts).toEqual({ sent: 0, dropped: 6 })
  await ended(traces)
  expect(counts).toEqual({ sent: 6, dropped: 6 })
})

test('of a tree that is larger than the queue the upper part is sent', async () => {
  const { port } = await collector()
  const { traces, counts } = await exportTo(port, {
    OTEL_BSP_MAX_QUEUE_SIZE: '4',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  })
  traces.finished(manySpans(10))
  await ended(traces)
  expect(counts).toEqual({ sent: 4, dropped: 6 })
})

test('an outage is one line, and so is its end; what was lost is counted', async () => {
  const { collector: it, port } = await collector()
  it.status = 400
  const { traces, counts, said, log } = await exportTo(port)
  for (let sent = 1; sent <= 3; sent++) {
    traces.finished(tree('lost'))
    await expect.poll(() => counts.dropped).toBe(sent)
  }
  const away = 'warn: the trace collector does not take our spans; they are dropped until it does'
  expect(said()).toEqual([away])
  it.status = 200
  traces.finished(tree('found'))
  await expect.poll(() => counts.sent).toBe(1)
  expect(said()).toEqual([away, 'info: the trace collector takes spans again'])
  expect(log.lines[1]?.fields).toMatchObject({ dropped: 3, endpoint: `http://127.0.0.1:${port}/v1/traces` })
  await ended(traces)
})

test.each(['http/protobuf', 'grpc'])(
  'nobody listens (%s): taking a tree never waits, and the end waits little',
  async (protocol) => {
    const gone = new Collector()
    const port = await gone.listen()
    gone.close()
    const { traces } = await exportTo(port, { OTEL_EXPORTER_OTLP_PROTOCOL: protocol })
    for (let at = 0; at < 100; at++) traces.finished(manySpans(50))
    const end = ended(traces)
    await expect(Promise.race([end, systemClock.sleep(10_000, new AbortController().signal)])).resolves.toBeUndefined()
    await end
  },
  20_000,
)

test('a collector that never answers does not hold up the end: what hangs is left', async () => {
  const { collector: it, port } = await collector()
  it.status = 0
  const { traces } = await exportTo(port)
  traces.finished(tree('lost'))
  await ended(traces)
  expect(traces.isAbandoned).toBe(true)
})

test('by its id a trace is in the sample or not; one that began elsewhere is sent', async () => {
  const { port } = await collector()
  const { traces, counts } = await exportTo(port, {
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  })
  // The official sampler joins the four words of the id with xor and compares the result with the ratio.
  traces.finished(tree('in', [], '7ffffffe'.padStart(32, '0')))
  traces.finished(tree('out', [], 'ffffffff'.padStart(32, '0')))
  traces.finished({ ...tree('from a core', [], 'ffffffff'.padStart(32, '0')), parentSpanId: 'c'.repeat(16) })
  await ended(traces)
  expect(counts).toEqual({ sent: 2, dropped: 0 })
})

test('a file that cannot be read is named with its variable', async () => {
  await expect(exportTo(4318, { OTEL_EXPORTER_OTLP_CERTIFICATE: '/no/ca.pem' })).rejects.toThrow(
    'OTEL_EXPORTER_OTLP_CERTIFICATE=/no/ca.pem cannot be read: ENOENT: no such file',
  )
})
