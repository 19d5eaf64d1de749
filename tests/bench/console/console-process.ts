/**
 * `node --expose-gc console-process.js SERVICES SECONDS off|idle|viewer`: a proxy whose objects change a hundred times a
 * second, without the console, with it, or with somebody who looks at it. Prints what it measured as one line of JSON. In a
 * network namespace of its own the kernel takes the rules.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { fileURLToPath } from 'node:url'
import { nftablesTraits } from '../../../src/backends/nftables/traits.ts'
import { NftablesBackend } from '../../../src/backends/nftables/nftables-backend.ts'
import { thisHost } from '../../../src/cli/host/this-host.ts'
import { Catalog } from '../../../src/core/catalog.ts'
import { systemClock as clock } from '../../../src/core/clock.ts'
import { silentLogger as log } from '../../../src/core/logger.ts'
import { silentMetrics as metrics } from '../../../src/core/proxy-metrics.ts'
import type { RouteKey } from '../../../src/core/route.ts'
import { RouteTable } from '../../../src/core/routing/route-table.ts'
import { ToldNotices } from '../../../src/core/routing/told-notices.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import { DriftMemory } from '../../../src/core/sync/drift-memory.ts'
import { SyncRunner } from '../../../src/core/sync/sync-runner.ts'
import type { RouteTraffic } from '../../../src/core/traffic.ts'
import { NftTables } from '../../../src/dataplane/nft/nft-tables.ts'
import { LiveStreams } from '../../../src/observe/console/server/live-streams.ts'
import { nodeTopics } from '../../../src/observe/console/topics/node-topics.ts'
import { SyncHistory } from '../../../src/observe/tracing/sync-history.ts'
import { TraceRecorder } from '../../../src/observe/tracing/trace-recorder.ts'
import { TrafficBook } from '../../../src/observe/traffic/traffic-book.ts'
import { Intake } from '../../../src/sources/intake.ts'
import { nodeName, podRange, serviceName, serviceObject, sliceObject } from '../core/cluster-objects.ts'
import { processCost } from '../core/process-cost.ts'
import type { ConsoleResult, ViewerResult } from './console-result.ts'
import type { SeenByViewer } from './viewer-process.ts'

const services = Number(process.argv[2])
const seconds = Number(process.argv[3])
const watching = process.argv[4] as 'off' | 'idle' | 'viewer'
/** One change. */
const everyMs = 10
/** One Service in so many carries something new between two readings. */
const busyEvery = 10
let readings = 0

const stop = new AbortController()
const catalog = new Catalog()
const history = new SyncHistory()
const tracer = new TraceRecorder({ clock, sinks: [history] })
const notices = new ToldNotices({ log, metrics, onNotice() {} })
const intake = new Intake({ catalog, log, metrics, tracing: { tracer, clock, source: 'bench' } })
const [serviceSink, sliceSink] = [intake.sink('Service'), intake.sink('EndpointSlice')]
const table = new RouteTable({
  catalog,
  family: 'ipv4',
  nodeName,
  nodeIP: '192.0.2.10',
  policy: usualPolicy,
  notices,
  metrics,
  startedAtMs: clock.now(),
  clock,
})
const traffic = {
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: podRange },
  masqueradeAll: false,
  nodePortAddresses: [],
  localIps: () => [],
} as const
let onSync: () => void = () => {}
const runner = await openRunner()
const running = runner.run(stop.signal)
await new Promise<void>((resolve) => {
  onSync = resolve
  const indexes = Array.from({ length: services }, (_, index) => index)
  serviceSink.replace(indexes.map((index) => serviceSink.read(serviceObject(index, 1))))
  sliceSink.replace(indexes.map((index) => sliceSink.read(sliceObject(index, 1))))
})
const folder = await mkdtemp(join(tmpdir(), 'fairlead-bench-'))
const server = watching === 'off' ? undefined : await openConsole(join(folder, 'console.sock'))
const idle = await atRest()
const viewer = watching === 'viewer' ? await openViewer(join(folder, 'console.sock')) : undefined
await load(2, 2)
const before = process.cpuUsage()
const changedAtMs = await load(seconds, 1000)
const { user, system } = process.cpuUsage(before)
// What changed last is still on its way.
await new Promise((resolve) => setTimeout(resolve, 1500))
const result: ConsoleResult = {
  ...idle,
  cpuMsPerSecond: (user + system) / 1000 / seconds,
  ...(viewer && { viewer: await viewer.result(changedAtMs) }),
}
process.stdout.write(`${JSON.stringify(result)}\n`)
stop.abort()
server?.close()
await running
await rm(folder, { recursive: true })
process.exit(0)

async function openRunner(): Promise<SyncRunner> {
  const host = thisHost()
  const nft = new NftTables({ ...host, kernelRelease: host.kernelRelease() })
  const backend = new NftablesBackend({
    family: 'ipv4',
    table: await nft.open('ipv4', log, stop.signal),
    state: () => ({
      settings: { ...traffic, masqueradeMark: '0x00004000', limitsNodePorts: false },
      nodePortIps: [],
    }),
    countsConnections: () => false,
    metrics: { syncFailed() {}, cleanupFailed() {} },
    clock,
    log,
  })
  return new SyncRunner({
    family: 'ipv4',
    backend,
    table,
    health: { queuedUpdate() {}, updated() {} },
    metrics,
    tracer,
    clock,
    log,
    periods: () => ({ minMs: 1000, retryMs: 1000, maxMs: 3_600_000 }),
    afterSync: [{ name: 'the bench', isNote: true, run: () => onSync() }],
  })
}

/** As the daemon does, on a socket file: in this network namespace there is no loopback. */
async function openConsole(path: string) {
  const sources = [{ view: () => table.view, traffic: () => Promise.resolve(carried()) }]
  const topics = nodeTopics({
    catalog,
    families: [
      {
        family: 'ipv4',
        view: () => table.view,
        watchView: (it) => table.watchView(it),
        pendingRoutes: () => table.pendingRoutes,
        syncs: () => runner.tally,
        failedRoutes: () => runner.failedRoutes,
        notProgrammed: (key) => runner.whyNotProgrammed(key),
      },
    ],
    notices,
    drift: new DriftMemory(clock),
    book: new TrafficBook({ sources, clock, signal: stop.signal, log }),
    history,
    world: () => ({
      catalog,
      traits: nftablesTraits,
      families: [{ family: 'ipv4', table, traffic, detectLocalMode: 'ClusterCIDR' }],
    }),
    source: () => ({ from: 'the bench', state: 'live' }),
    isHealthy: () => true,
    isReady: () => true,
    problems: () => [],
    clock,
    log,
  })
  const about = {
    kind: 'node',
    isDemo: false,
    version: '',
    process: '',
    startedAt: '',
    families: [],
    topics: [],
    debugPages: [],
  } as const
  const streams = new LiveStreams({ about: () => about, topics, clock, log })
  const http = createServer(({ url = '' }, response) => {
    const asked = new URL(url, 'http://console').searchParams.getAll('topic')
    streams.open(response, { topics: asked, mayStay: () => true })
  }).listen(path)
  await once(http, 'listening')
  return http
}

/** Counters of a mode that counts in memory. */
function carried(): ReadonlyMap<RouteKey, RouteTraffic> {
  readings++
  const traffic = new Map<RouteKey, RouteTraffic>()
  let index = 0
  for (const key of table.view.routesByKey.keys()) {
    const connections = Math.floor((readings + (index++ % busyEvery)) / busyEvery)
    traffic.set(key, { connections, open: 1, bytesIn: 1000 * connections, bytesOut: 5000 * connections })
  }
  return traffic
}

async function atRest() {
  for (let time = 0; time < 4; time++) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    globalThis.gc?.()
  }
  const timers = process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length
  return { heapMb: process.memoryUsage().heapUsed / 1e6, residentMb: processCost().residentMb, timers }
}

async function openViewer(socket: string) {
  const { namespace, name } = serviceName(0)
  const topics = ['overview', 'services', 'syncs', `service/${namespace}/${name}`]
  const script = fileURLToPath(new URL('./viewer-process.js', import.meta.url))
  const child = spawn(process.execPath, [script, socket, ...topics], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()]
  await lines.next()
  const { user, system } = process.cpuUsage(startedCpu)
  const listed = { listMs: performance.now() - startedMs, listCpuMs: (user + system) / 1000 }
  return {
    async result(changed: ReadonlyMap<string, number>): Promise<ViewerResult> {
      child.stdin.end()
      const { value } = await lines.next()
      const seen = JSON.parse(value as string) as SeenByViewer
      const delays = [...changed].map(([key, atMs]) => (seen.seenAtMs[key] ?? Infinity) - atMs)
      delays.sort((left, right) => left - right)
      // It looked while warming up, too.
      const looked = seconds + 2 + 1.5
      return {
        ...listed,
        messagesPerSecond: seen.messages / looked,
        kilobytesPerSecond: seen.bytes / 1000 / looked,
        delayMs: { median: delays[delays.length >> 1] ?? 0, most: delays.at(-1) ?? 0 },
      }
    },
  }
}

/** Endpoints change one after the other, each of another Service. Returns when each did, by the key of the Service. */
async function load(forSeconds: number, firstVersion: number): Promise<ReadonlyMap<string, number>> {
  const changedAtMs = new Map<string, number>()
  const count = (forSeconds * 1000) / everyMs
  const startedMs = performance.now()
  for (let done = 0; done < count; done++) {
    const version = firstVersion + done
    const index = (version * 7919) % services
    sliceSink.upsert(sliceSink.read(sliceObject(index, version, version)))
    const { namespace, name } = serviceName(index)
    changedAtMs.set(`${namespace}/${name}`, Date.now())
    const waitMs = startedMs + (done + 1) * everyMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
  return changedAtMs
}
