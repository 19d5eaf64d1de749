/** The tree of a sync in the userspace mode: names and attributes, compared with the table of the mode's first authors. */
import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import type { SpanRecord } from '../../core/trace.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../dataplane/iptables/memory-iptables.ts'
import { MemoryNetsh } from '../../dataplane/netsh/memory-netsh.ts'
import { NetshError } from '../../dataplane/netsh/netsh.ts'
import { MemoryOwnedObjects } from '../../dataplane/owned-objects/memory-owned-objects.ts'
import { MemoryRelay } from '../../dataplane/relay/testing/memory-relay.ts'
import { misplacedIn, treeLines } from '../../observe/tracing/testing/recorded-trees.ts'
import { tracedSyncs } from '../../observe/tracing/testing/traced-sync.ts'
import { FreePorts } from './free-ports.ts'
import { onLoopback, portalBackendOn } from './portals/testing/portals-under-test.ts'
import { UserspaceBackend } from './userspace-backend.ts'
import { WindowsBackend } from './windows/windows-backend.ts'

const endpoints = [testEndpoint('10.64.0.1', 8080)]
const web = testRoute('shop/web:http', {
  endpoints,
  clusterIP: '10.96.0.10',
  nodePort: 30080,
  externalIPs: ['198.51.100.7'],
  affinitySeconds: 600,
})
const metrics = testRoute('shop/web:metrics', { endpoints, clusterIP: '10.96.0.10', port: 9090 })
const dns = testRoute('kube-system/dns', { endpoints, clusterIP: '10.96.0.53', port: 53, protocol: 'UDP' })

test('portals: the first sync has one subtree per Service', async () => {
  const { sync } = portals()
  const tree = await sync([web, metrics, dns])
  expect(treeLines(tree)).toEqual([
    'syncProxyRules',
    '  plan',
    '  mergeService',
    '    addServiceOnPortInternal',
    '    LoadBalancerRR.NewService',
    '    addServiceOnPortInternal',
    '    LoadBalancerRR.NewService',
    '    openPortal',
    '      openOnePortal',
    '      openOnePortal',
    '      openNodePort',
    '    openPortal',
    '      openOnePortal',
    '  mergeService',
    '    addServiceOnPortInternal',
    '    LoadBalancerRR.NewService',
    '    openPortal',
    '      openOnePortal',
    '  iptablesInit',
    '  ensurePortals',
    '    commit',
    '  iptablesFlush',
    '  cleanupStaleStickySessions',
  ])
  expect(attributesOf(tree, 'mergeService')).toEqual([
    { service: 'shop/web', ports: 2, changed: true },
    { service: 'kube-system/dns', ports: 1, changed: true },
  ])
  expect(attributesOf(tree, 'addServiceOnPortInternal')).toEqual([
    { service_port: 'shop/web:http', protocol: 'TCP', 'proxy.port': anyPort },
    { service_port: 'shop/web:metrics', protocol: 'TCP', 'proxy.port': anyPort },
    { service_port: 'kube-system/dns', protocol: 'UDP', 'proxy.port': anyPort },
  ])
  expect(attributesOf(tree, 'openPortal')[0]).toEqual({ service_port: 'shop/web:http' })
  expect(attributesOf(tree, 'openOnePortal').slice(0, 2)).toEqual([
    { 'portal.ip': '10.96.0.10', 'portal.port': 80, 'portal.external': false, claim: false, 'rules.added': 2 },
    { 'portal.ip': '198.51.100.7', 'portal.port': 80, 'portal.external': true, claim: false, 'rules.added': 3 },
  ])
  expect(attributesOf(tree, 'openNodePort')).toEqual([{ node_port: 30080, claim: true, 'rules.added': 3 }])
  expect(attributesOf(tree, 'LoadBalancerRR.NewService').slice(0, 2)).toEqual([
    { 'affinity.type': 'ClientIP', 'affinity.ttl_s': 600 },
    { 'affinity.type': 'None', 'affinity.ttl_s': 0 },
  ])
  expect(attributesOf(tree, 'iptablesInit')).toEqual([
    {
      'chains.created': 7,
      'rules.created': 9,
      'proxy.listen_ip': onLoopback.listenIp,
      'proxy.host_ip': onLoopback.hostIp,
    },
  ])
  expect(attributesOf(tree, 'iptablesFlush')).toEqual([{ chains: 0 }])
  expect(attributesOf(tree, 'ensurePortals')).toMatchObject([{ services: 3, errors: 0 }])
  expect(attributesOf(tree, 'cleanupStaleStickySessions')).toEqual([{ services: 0, removed: 0 }])
  expect(misplacedIn(tree)).toEqual([])
})

test('portals: a Service that goes is unmerged, and nobody else is in the tree', async () => {
  const { sync } = portals()
  await sync([web, dns])
  const tree = await sync([dns])
  expect(treeLines(tree)).toEqual([
    'syncProxyRules',
    '  plan',
    '  unmergeService',
    '    closePortal',
    '      closeOnePortal',
    '      closeOnePortal',
    '      closeNodePort',
    '    stopProxy',
    '  ensurePortals',
    '    commit',
    '  cleanupStaleStickySessions',
  ])
  expect(attributesOf(tree, 'unmergeService')).toEqual([{ service: 'shop/web', 'ports.removed': 1 }])
  expect(attributesOf(tree, 'closeOnePortal')[0]).toMatchObject({ 'portal.ip': '10.96.0.10', 'portal.port': 80 })
  expect(attributesOf(tree, 'closeNodePort')).toEqual([{ node_port: 30080 }])
  expect(attributesOf(tree, 'stopProxy')).toEqual([{ 'proxy.port': anyPort, 'connections.left': 0 }])
  expect(misplacedIn(tree)).toEqual([])
})

test('portals: other endpoints open nothing, a new address opens one portal, a full sync without news is short', async () => {
  const { sync } = portals()
  await sync([web, dns])
  const moved = withWishes(web, { endpoints: [testEndpoint('10.64.0.2', 8080)] })
  const change = await sync([moved, dns])
  expect(treeLines(change)).toEqual(['syncProxyRules', '  plan', '  mergeService', '  cleanupStaleStickySessions'])
  expect(attributesOf(change, 'mergeService')).toEqual([{ service: 'shop/web', ports: 1, changed: false }])
  const wider = withWishes(moved, { externalIPs: ['198.51.100.7', '198.51.100.8'] })
  expect(attributesOf(await sync([wider, dns]), 'openOnePortal')).toMatchObject([{ 'portal.ip': '198.51.100.8' }])
  expect(treeLines(await sync([wider, dns], { full: true }))).toEqual([
    'syncProxyRules',
    '  plan',
    '  iptablesInit',
    '  ensurePortals',
    '    commit',
    '  iptablesFlush',
    '  cleanupStaleStickySessions',
  ])
})

test('portals: a full sync tells how many rules it looked for, and how many of them were missing', async () => {
  const { sync, kernel } = portals()
  const counts = ({ attributes }: SpanRecord) => [attributes['rules.checked'], attributes['rules.restored']]
  const ofSync = async (...args: Parameters<typeof sync>) => spansIn(await sync(...args), 'ensurePortals').map(counts)
  const [[all] = []] = await ofSync([web, dns])
  expect(await ofSync([web, dns], { full: true })).toEqual([[all, 0]])
  await kernel.restore('*nat\n:KUBE-NODEPORT-HOST - [0:0]\nCOMMIT\n', never)
  expect(await ofSync([web, dns], { full: true })).toEqual([[all, 1]])
  const wider = withWishes(web, { externalIPs: ['198.51.100.7', '198.51.100.8'] })
  const [[checked, restored] = []] = await ofSync([wider, dns])
  // Those of one Service, and of them some in chains that stay as they are.
  expect(checked).toBeLessThan(Number(all) + 3)
  expect(restored).toBeLessThanOrEqual(Number(checked))
  expect(attributesOf(await sync([wider, dns], { full: true }), 'iptablesFlush')).toEqual([{ chains: 7 }])
})

test('portals: when iptables fails, so do the portals that it was to open, and the sync', async () => {
  const { sync, kernel } = portals()
  await sync([dns])
  kernel.isBroken = true
  const tree = await sync([web, dns])
  expect(treeLines(tree)).toEqual([
    'syncProxyRules FAILED',
    '  plan',
    '  mergeService FAILED',
    '    addServiceOnPortInternal',
    '    LoadBalancerRR.NewService',
    '    openPortal FAILED',
    '      openOnePortal FAILED',
    '      openOnePortal FAILED',
    '      openNodePort FAILED',
    '  ensurePortals FAILED',
    '    commit FAILED',
  ])
  expect(spansIn(tree, 'openOnePortal')[0]).toMatchObject({ error: 'the test breaks it' })
})

test('portals: a Service that this mode cannot serve is skipped, with the reason', async () => {
  const { sync } = portals()
  const tree = await sync([testRoute('shop/sctp', { protocol: 'SCTP', endpoints })])
  expect(attributesOf(tree, 'mergeService')).toMatchObject([
    { service: 'shop/sctp', skipped: expect.stringContaining('SCTP') as string },
  ])
})

test('portals: of very many Services only the first are in the tree', async () => {
  const { sync } = portals()
  const many = Array.from({ length: 3000 }, (_, n) =>
    testRoute(`load/s${n}`, { endpoints, clusterIP: `10.97.${n >> 8}.${n & 255}` }),
  )
  const tree = await sync(many)
  expect(spansIn(tree, 'mergeService')).toHaveLength(100)
  expect(tree.attributes['spans.dropped']).toBe(2900)
  expect(tree.children.at(-1)?.name).toBe('cleanupStaleStickySessions')
})

test('without rules: listeners at the addresses themselves', async () => {
  const relay = new MemoryRelay()
  const sync = tracedSyncs(new UserspaceBackend({ relay, listen: { kind: 'service-addresses' }, log: silentLogger }))
  expect(treeLines(await sync([metrics, dns]))).toEqual([
    'syncProxyRules',
    '  mergeService',
    '    addServiceOnPortInternal',
    '    LoadBalancerRR.NewService',
    '  mergeService',
    '    addServiceOnPortInternal',
    '    LoadBalancerRR.NewService',
  ])
  expect(treeLines(await sync([dns]))).toEqual(['syncProxyRules', '  unmergeService', '    stopProxy'])
  relay.refusedIp = '10.96.0.10'
  const failed = await sync([metrics, dns])
  expect(treeLines(failed)).toEqual([
    'syncProxyRules',
    '  mergeService',
    '    addServiceOnPortInternal FAILED',
    '    LoadBalancerRR.NewService',
  ])
  expect(attributesOf(failed, 'addServiceOnPortInternal')[0]).toMatchObject({
    error: expect.stringContaining('the test refuses 10.96.0.10') as string,
  })
})

test('on Windows: each address with the commands that it took', async () => {
  const { sync, netsh } = windows()
  netsh.ips.add('10.96.0.53')
  const tree = await sync([withWishes(web, { nodePort: undefined }), dns])
  expect(treeLines(tree)).toEqual([
    'syncProxyRules',
    '  plan',
    '  mergeService',
    '    addServicePortPortal',
    '      netsh',
    '    addServicePortPortal',
    '      netsh',
    '    LoadBalancerRR.NewService',
    '  mergeService',
    '    addServicePortPortal',
    '    LoadBalancerRR.NewService',
  ])
  expect(attributesOf(tree, 'addServicePortPortal')).toMatchObject([
    { 'portal.ip': '10.96.0.10', 'portal.port': 80, protocol: 'TCP', 'ip.existed': false },
    { 'portal.ip': '198.51.100.7', 'portal.port': 80, protocol: 'TCP', 'ip.existed': false },
    { 'portal.ip': '10.96.0.53', 'portal.port': 53, protocol: 'UDP', 'ip.existed': true },
  ])
  expect(attributesOf(tree, 'netsh')[0]).toEqual({
    argv: expect.arrayContaining(['netsh', 'add', 'address=10.96.0.10']) as string[],
    exit_code: 0,
    elapsed_ms: 0,
  })
  const after = await sync([dns])
  expect(treeLines(after)).toEqual([
    'syncProxyRules',
    '  plan',
    '  unmergeService',
    '    closeServicePortPortal',
    '      netsh',
    '    closeServicePortPortal',
    '      netsh',
    '    stopProxy',
    '    stopProxy',
  ])
  expect([tree, after].flatMap(misplacedIn)).toEqual([])
})

test('on Windows: a command that fails is an error of it and of the address', async () => {
  const { sync, netsh } = windows()
  netsh.add = () => Promise.reject(new NetshError('refused', 'the object already exists', { exitCode: 1 }))
  const tree = await sync([metrics])
  expect(treeLines(tree)).toEqual([
    'syncProxyRules',
    '  plan',
    '  mergeService',
    '    addServicePortPortal FAILED',
    '      netsh FAILED',
    '    LoadBalancerRR.NewService',
  ])
  expect(attributesOf(tree, 'netsh')).toMatchObject([{ exit_code: 1, 'error.type': 'refused' }])
})

test('on Windows: a command that never ended has no exit code', async () => {
  const { sync, netsh } = windows()
  netsh.add = () => Promise.reject(new NetshError('timed-out', 'it took too long'))
  const [command] = attributesOf(await sync([metrics]), 'netsh')
  expect(command).toMatchObject({ 'error.type': 'timed-out' })
  expect(command).not.toHaveProperty('exit_code')
})

const never = new AbortController().signal
const anyPort = expect.any(Number) as number

class BreakableIptables extends MemoryIptables {
  isBroken = false

  override restore(...args: Parameters<MemoryIptables['restore']>): Promise<void> {
    return this.isBroken ? Promise.reject(new IptablesError('locked', 'the test breaks it')) : super.restore(...args)
  }
}

function portals() {
  const kernel = new BreakableIptables({ family: 'ipv4' })
  const backend = portalBackendOn({
    relay: new MemoryRelay(),
    iptables: kernel,
    kernel,
    freePorts: new FreePorts(),
    settings: () => onLoopback,
    clock: new FakeClock(),
  })
  return { kernel, sync: tracedSyncs(backend) }
}

function windows() {
  const netsh = new MemoryNetsh()
  const backend = new WindowsBackend({
    relay: new MemoryRelay(),
    netsh,
    owned: new MemoryOwnedObjects(),
    family: 'ipv4',
    localIps: () => [],
    nodePortAddresses: () => nodePortAddresses([], 'ipv4'),
    clock: new FakeClock(),
    log: silentLogger,
  })
  return { netsh, sync: tracedSyncs(backend) }
}

function spansIn(tree: SpanRecord, name: string): readonly SpanRecord[] {
  const below = tree.children.flatMap((child) => spansIn(child, name))
  return tree.name === name ? [tree, ...below] : below
}

function attributesOf(tree: SpanRecord, name: string): readonly SpanRecord['attributes'][] {
  return spansIn(tree, name).map(({ attributes }) => attributes)
}
