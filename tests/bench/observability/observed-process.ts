/**
 * `node observed-process.js SERVICES on|off`: from objects to the nftables backend in one process, with everything that
 * watches it on, or with nothing. Prints what the first sync took, as one line of JSON. Then each line of standard input
 * is a number of endpoints to change one after the other, each by a watch event as it comes over the wire, answered with
 * what one change took. In a network namespace of
 * its own the kernel takes the rules.
 */
import { createInterface } from 'node:readline'
import { NftablesBackend } from '../../../src/backends/nftables/nftables-backend.ts'
import { Catalog } from '../../../src/core/catalog.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { silentMetrics } from '../../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../../src/core/routing/route-table.ts'
import { silentNotices } from '../../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import { LastTouched } from '../../../src/core/sync/last-touched.ts'
import { SyncRunner } from '../../../src/core/sync/sync-runner.ts'
import type { AfterSync } from '../../../src/core/sync/sync-runner.ts'
import { noTracer } from '../../../src/core/trace.ts'
import { TimeToSafety } from '../../../src/core/sync/time-to-safety.ts'
import { thisHost } from '../../../src/cli/host/this-host.ts'
import { NftTables } from '../../../src/dataplane/nft/nft-tables.ts'
import { MetricRegistry } from '../../../src/observe/metrics/prometheus.ts'
import { ProxyMetricFamilies } from '../../../src/observe/metrics/proxy-metric-families.ts'
import { PrometheusProxyMetrics } from '../../../src/observe/metrics/proxy-metrics.ts'
import { SyncHistory } from '../../../src/observe/tracing/sync-history.ts'
import { TraceRecorder } from '../../../src/observe/tracing/trace-recorder.ts'
import { Intake } from '../../../src/sources/intake.ts'
import { nodeName, podRange, serviceObject, sliceObject } from '../core/cluster-objects.ts'
import { processCost } from '../core/process-cost.ts'
import type { Cost } from './observed-result.ts'

const services = Number(process.argv[2])
const isOn = process.argv[3] === 'on'

const stop = new AbortController()
const clock = systemClock
const catalog = new Catalog()
const watching = isOn ? everything() : undefined
const metrics = watching?.metrics ?? silentMetrics
const intake = new Intake({
  catalog,
  log: silentLogger,
  metrics,
  ...(watching && { tracing: { tracer: watching.recorder, clock, source: 'bench' } }),
})
const [serviceSink, sliceSink] = [intake.sink('Service'), intake.sink('EndpointSlice')]
const host = thisHost()
const nft = new NftTables({ ...host, kernelRelease: host.kernelRelease() })
const table = new RouteTable({
  catalog,
  family: 'ipv4',
  nodeName,
  nodeIP: '192.0.2.10',
  policy: usualPolicy,
  notices: silentNotices,
  metrics,
  startedAtMs: clock.now(),
  clock,
})
let onSync: () => void = () => {}
const afterEach: AfterSync = { name: 'the bench', isNote: true, run: () => onSync() }
const runner = new SyncRunner({
  family: 'ipv4',
  backend: new NftablesBackend({
    family: 'ipv4',
    table: await nft.open('ipv4', silentLogger, stop.signal),
    state: () => ({
      settings: {
        family: 'ipv4',
        localTraffic: { kind: 'cidr', cidr: podRange },
        masqueradeAll: false,
        masqueradeMark: '0x00004000',
        limitsNodePorts: false,
      },
      nodePortIps: [],
    }),
    countsConnections: () => false,
    metrics: { syncFailed() {}, cleanupFailed() {} },
    clock,
    log: silentLogger,
  }),
  table,
  health: { queuedUpdate() {}, updated() {} },
  metrics,
  clock,
  log: silentLogger,
  periods: () => ({ minMs: 0, retryMs: 1000, maxMs: 3_600_000 }),
  afterSync: [...(watching ? [watching.touched.afterSync()] : []), afterEach],
  tracer: watching?.recorder ?? noTracer,
  ...(watching && { safety: watching.safety }),
})

const indexes = Array.from({ length: services }, (_, index) => index)
const objects = indexes.map((index) => [serviceObject(index, 1), sliceObject(index, 1)] as const)
const running = runner.run(stop.signal)
const first = await costOf(() =>
  synced(() => {
    serviceSink.replace(objects.map(([service]) => serviceSink.read(service)))
    sliceSink.replace(objects.map(([, slice]) => sliceSink.read(slice)))
  }),
)
tell(first)
let version = 1
for await (const line of createInterface({ input: process.stdin })) {
  const changes = Number(line)
  const events = Array.from({ length: changes }, () => eventText(++version))
  const { ms, cpuMs, residentMb } = await costOf(async () => {
    for (const event of events) await changeOne(event)
  })
  tell({ ms: ms / changes, cpuMs: cpuMs / changes, residentMb })
}
stop.abort()
await running
process.exit(0)

/** What the daemon always has. */
function everything() {
  const registry = new MetricRegistry()
  const ours = new PrometheusProxyMetrics(registry, new ProxyMetricFamilies(registry, 'nftables'))
  return {
    metrics: ours,
    recorder: new TraceRecorder({ clock, sinks: [new SyncHistory()] }),
    safety: new TimeToSafety({ clock, metrics: ours }),
    touched: new LastTouched(clock),
  }
}

/** A line of a watch, as the API server sends it. */
function eventText(version: number): Buffer {
  const object = sliceObject((version * 7919) % services, version, version)
  return Buffer.from(JSON.stringify({ type: 'MODIFIED', object }))
}

async function changeOne(event: Buffer): Promise<void> {
  await synced(() => {
    const { object } = JSON.parse(event.toString('utf8')) as { readonly object: unknown }
    sliceSink.upsert(sliceSink.read(object))
  })
}

/** Until the sync that it causes has ended. */
async function synced(cause: () => void): Promise<void> {
  const ended = new Promise<void>((resolve) => (onSync = resolve))
  cause()
  await ended
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [startMs, before] = [performance.now(), processCost()]
  await work()
  const { cpuMs, residentMb } = processCost()
  return { ms: performance.now() - startMs, cpuMs: cpuMs - before.cpuMs, residentMb }
}

function tell(cost: Cost): void {
  process.stdout.write(`${JSON.stringify(cost)}\n`)
}
