/** The mode on a Windows node in memory. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { silentNotices } from '../../core/routing/service-notices.ts'
import { DriftMemory } from '../../core/sync/drift-memory.ts'
import { TimeToSafety } from '../../core/sync/time-to-safety.ts'
import { usualPolicy } from '../../core/routing/serving-policy.ts'
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { service, slice } from '../../core/testing/objects.ts'
import { HcnError } from '../../dataplane/hcn/hcn.ts'
import { MemoryDriver } from '../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../dataplane/hcn/memory/memory-hns.ts'
import { noTracer } from '../../core/trace.ts'
import { daemonMetrics } from '../daemon/daemon-metrics.ts'
import { Succession } from '../succession/succession.ts'
import { daemonTracing } from '../daemon/daemon-tracing.ts'
import { familyProxy } from '../daemon/family-proxy.ts'
import { modeContext } from '../daemon/mode-context.ts'
import { runDaemon } from '../daemon/run-daemon.ts'
import { memoryDaemon } from '../daemon/testing/memory-daemon.ts'
import { memoryHost } from '../host/testing/memory-host.ts'

const never = new AbortController().signal
const manifests = fileURLToPath(new URL('../../../examples/manifests/cluster', import.meta.url))
const ips = { ipv4: '172.30.7.11', ipv6: '::1' }

let stateDir: string
beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fairlead-kernelspace-'))
})
afterAll(() => rm(stateDir, { recursive: true }))

/** Closed as often as it was opened? */
class CountedDriver extends MemoryDriver {
  ends = 0
  override async [Symbol.asyncDispose](): Promise<void> {
    this.ends++
  }
}

async function windowsNode(flags: readonly string[] = []) {
  const hns = new MemoryHns({ profile: '2022' })
  const network = hns.putNetwork({ name: 'pod-net' })
  hns.putEndpoint(network, { ips: ['10.61.1.5'] })
  const driver = new CountedDriver(hns)
  const opened = { count: 0 }
  const clock = new FakeClock()
  const host = memoryHost({
    platform: 'win32',
    clock,
    openHcn: () => {
      opened.count++
      return Promise.resolve(driver)
    },
  })
  const all = ['--network-name=pod-net', `--state-dir=${stateDir}`, `--objects=${manifests}`, ...flags]
  const daemon = await memoryDaemon({ flags: all, host })
  const node = { name: 'win-a', record: undefined, addresses: { ips, primaryFamily: 'ipv4' } } as const
  const onNode = () =>
    daemon.mode.onNode(
      modeContext(daemon, node, {
        metrics: daemonMetrics(daemon.running, host),
        tracing: daemonTracing(host.clock),
        succession: new Succession(),
      }),
    )
  const writes = () => driver.journal.filter(({ operation }) => /create|modify|remove/.test(operation))
  return { hns, driver, opened, clock, host, daemon, onNode, writes }
}

test('is the default on Windows', async () => {
  expect((await windowsNode()).daemon.mode.name).toBe('kernelspace')
})

test('--init-only finds out whether the mode can run, and changes nothing', async () => {
  const { hns, driver, opened, daemon, host, writes } = await windowsNode(['--init-only', '--node-address=172.30.7.11'])
  const foreign = { protocol: 6, externalPort: 80, internalPort: 80, isSticky: false, mappingFlags: 0, flags: 0 }
  hns.putLoadBalancer({ ...foreign, endpoints: [], sourceVip: undefined, vip: '10.112.0.9' })
  await runDaemon(daemon, never)
  expect(writes()).toEqual([])
  expect(driver.journal.map(({ operation }) => operation)).toContain('queryNetwork')
  expect([hns.loadBalancers.length, driver.ends]).toEqual([1, opened.count])
  expect([host.commands, host.sysctl.writes]).toEqual([[], []])
})

test('a machine without HNS is told what it needs', async () => {
  const { host, onNode } = await windowsNode()
  const missing = new HcnError('missing', 'computenetwork.dll cannot be loaded')
  Object.assign(host, { openHcn: () => Promise.reject(missing) })
  await expect(onNode().supports('ipv4', never)).rejects.toThrow(
    'the kernelspace mode cannot run here: computenetwork.dll cannot be loaded; it needs Windows Server 2019 or later',
  )
})

test('settings that mean nothing here are named, all at once', async () => {
  const { daemon, onNode } = await windowsNode([
    '--cluster-cidr=10.61.0.0/16',
    '--masquerade-all',
    '--ipvs-scheduler=rr',
    '--conntrack-min=1',
    '--oom-score-adj=0',
  ])
  onNode()
  expect(daemon.log.at('warn').map(({ fields }) => fields['warning'])).toEqual([
    'these have no effect in kernelspace mode: clusterCIDR, iptables.masqueradeAll, conntrack, ipvs, oomScoreAdj',
  ])
})

test('nodePortAddresses means nothing here, and that is said', async () => {
  const { daemon } = await windowsNode(['--init-only', '--node-address=172.30.7.11', '--nodeport-addresses=10.0.0.0/8'])
  await runDaemon(daemon, never)
  expect(daemon.log.at('warn').map(({ fields }) => fields['warning'])).toEqual([
    'nodePortAddresses has no effect in this mode: node ports are open on all local IPs',
  ])
})

test('both families use one HNS, one call at a time, and the last one closes it', async () => {
  const { driver, opened, onNode } = await windowsNode()
  const mode = onNode()
  expect(await Promise.all([mode.supports('ipv4', never), mode.supports('ipv6', never)])).toEqual([true, true])
  const v4 = await mode.createBackend('ipv4', never)
  const v6 = await mode.createBackend('ipv6', never)
  expect(opened.count - driver.ends).toBe(1)
  await v4.backend[Symbol.asyncDispose]()
  expect(opened.count - driver.ends).toBe(1)
  await v6.backend[Symbol.asyncDispose]()
  expect(opened.count).toBe(driver.ends)
  expect(driver.mostAtOnce).toBe(1)
})

test('HNS is not asked for anything before Services and EndpointSlices are both known', async () => {
  const { hns, driver, clock, daemon, onNode } = await windowsNode()
  const { backend } = await onNode().createBackend('ipv4', never)
  driver.takeJournal()
  const catalog = new Catalog()
  const stop = new AbortController()
  const proxy = familyProxy({
    family: 'ipv4',
    backend,
    afterSync: [],
    catalog,
    nodeName: 'win-a',
    nodeIP: ips.ipv4,
    adopt: () => ({
      policy: { ...usualPolicy, endpointRules: daemon.mode.endpointRules },
      nodePortAddresses: [],
    }),
    notices: silentNotices,
    localIps: () => [],
    periods: () => ({ minMs: 1, retryMs: 30_000, maxMs: 3_600_000 }),
    health: new ProxyHealth({ clock, timeoutMs: () => 60_000 }),
    hasHealthServer: false,
    metrics: silentMetrics,
    safety: new TimeToSafety({ clock, metrics: silentMetrics }),
    drift: new DriftMemory(clock),
    maxConnections: 1,
    onHealthPortFailure() {},
    tracer: noTracer,
    probe: () => Promise.resolve(undefined),
    clock,
    log: daemon.log,
  })
  const running = proxy.run(stop.signal)
  catalog.replace('Service', [service('demo/web', { clusterIP: '10.112.0.20', ports: [{ port: 80 }] })])
  catalog.replace('Node', [])
  catalog.replace('ServiceCIDR', [])
  await clock.advance(60_000)
  expect(driver.journal).toEqual([])
  catalog.replace('EndpointSlice', [slice('demo/web-1', 'web', ['10.61.1.5'])])
  await clock.advance(1_000)
  // What is ours is written to a real disk first.
  await expect
    .poll(() => hns.loadBalancers)
    .toMatchObject([{ vip: '10.112.0.20', externalPort: 80, internalPort: 8080 }])
  stop.abort()
  await running
})
