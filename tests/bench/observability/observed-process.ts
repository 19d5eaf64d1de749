/**
 * `node observed-process.js SERVICES CHANGES on|off`: from objects to the nftables backend in one process, with everything
 * that watches it on, or with nothing. Prints what the first sync and each change took, as one line of JSON. In a network
 * namespace of its own the kernel takes the rules.
 */
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
import type { ObservedResult } from './observed-result.ts'

const services = Number(process.argv[2])
const changes = Number(process.argv[3])
const isOn = process.argv[4] === 'on'
const warmUps = 100

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
const synced: AfterSync = { name: 'the bench', isNote: true, run: () => onSync() }
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
  afterSync: [...(watching ? [watching.touched.afterSync()] : []), synced],
  tracer: watching?.recorder ?? noTracer,
  ...(watching && { safety: watching.safety }),
})

const indexes = Array.from({ length: services }, (_, index) => index)
const objects = indexes.map((index) => [serviceObject(index, 1), sliceObject(index, 1)] as const)
const running = runner.run(stop.signal)
const first = await measured(() => {
  serviceSink.replace(objects.map(([service]) => serviceSink.read(service)))
  sliceSink.replace(objects.map(([, slice]) => sliceSink.read(slice)))
})
for (let version = 2; version < 2 + warmUps; version++) await changeOne(version)
const before = processCost()
const startedMs = performance.now()
for (let version = 1000; version < 1000 + changes; version++) await changeOne(version)
const result: ObservedResult = {
  firstMs: first.ms,
  firstCpuMs: first.cpuMs,
  changeMs: (performance.now() - startedMs) / changes,
  changeCpuMs: (processCost().cpuMs - before.cpuMs) / changes,
  residentMb: processCost().residentMb,
}
stop.abort()
await running
process.stdout.write(`${JSON.stringify(result)}\n`)
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

/** Until the sync that it causes has ended. */
async function measured(cause: () => void): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  const ended = new Promise<void>((resolve) => (onSync = resolve))
  cause()
  await ended
  const { user, system } = process.cpuUsage(startCpu)
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1000 }
}

async function changeOne(version: number): Promise<void> {
  const index = (version * 7919) % services
  await measured(() => sliceSink.upsert(sliceSink.read(sliceObject(index, version, version))))
}
