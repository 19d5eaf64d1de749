import { describe, expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import type { VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import { setIds, setName } from './ip-sets.ts'
import { nodeKernel, proxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal

const here = testEndpoint('10.64.0.1', 8080, { isLocal: true })
const there = testEndpoint('10.64.1.1', 8080)
const webPort = { clusterIP: '10.96.0.10', endpoints: [here, there] }
const web = testRoute('shop/web', webPort)
const dns = testRoute('shop/dns', { clusterIP: '10.96.0.11', protocol: 'UDP', port: 53, endpoints: [here] })

const guarded = (name: string, ip: string) =>
  testRoute(name, {
    clusterIP: `10.96.0.${ip.split('.')[3]}1`,
    loadBalancerIPs: [ip],
    sourceRanges: ['203.0.113.0/24'],
  })

const foreign = (ip: string, overrides: Partial<VirtualServer> = {}) =>
  ({ ip, port: 8443, protocol: 'TCP', scheduler: 'wlc', flags: 0, timeoutSeconds: 0, ...overrides }) as const

describe('the first sync', () => {
  test('makes all sets and the fixed rules, even when there is no Service', async () => {
    const { kernel, sync } = proxiedNode()
    await sync([], { full: true })
    const sets = await kernel.ipset.list(
      setIds.map((id) => setName(id, 'ipv4')),
      never,
    )
    expect(sets).toHaveLength(17)
    expect(sets.every(({ entries }) => entries.size === 0)).toBe(true)
    expect(await kernel.iptables.save('nat', never)).not.toContain('--match-set')
    expect(await kernel.iptables.save('filter', never)).toContain('--match-set KUBE-IPVS-IPS dst -j REJECT')
  })

  test('puts an endpoint of this node behind every address that leads to it', async () => {
    const { kernel, sync } = proxiedNode()
    await sync([testRoute('shop/web', { nodePort: 30_080, externalIPs: ['198.51.100.7'], endpoints: [here] })], {
      full: true,
    })
    const servers = (await kernel.snapshot()).filter((line) => line.includes('->'))
    expect(servers).toEqual([
      'server 10.96.0.10:80/TCP -> 10.64.0.1 8080 weight 1',
      'server 192.0.2.1:30080/TCP -> 10.64.0.1 8080 weight 1',
      'server 198.51.100.7:80/TCP -> 10.64.0.1 8080 weight 1',
    ])
  })

  test('finds nothing to do when another process has left everything in place', async () => {
    const kernel = nodeKernel()
    const routes = [web, dns, guarded('shop/guarded', '198.51.100.9')]
    await proxiedNode({ kernel }).sync(routes, { full: true })
    expect(await kernel.iptables.save('filter', never)).toContain('-A KUBE-IPVS-OUT-FILTER')
    const before = await kernel.snapshot()
    kernel.ipvs.operations.length = 0
    kernel.ipset.changes.length = 0
    kernel.iptables.inputs.length = 0
    await proxiedNode({ kernel }).sync(routes, { full: true })
    expect([kernel.ipvs.operations, kernel.ipset.changes, kernel.iptables.inputs]).toEqual([[], [], []])
    expect(await kernel.snapshot()).toEqual(before)
  })

  test('writes only the chains that are not as they should be', async () => {
    const kernel = nodeKernel()
    await proxiedNode({ kernel }).sync([web], { full: true })
    await kernel.iptables.restore('*nat\n-A KUBE-NODE-PORT -j RETURN\nCOMMIT\n', never)
    kernel.iptables.inputs.length = 0
    await proxiedNode({ kernel }).sync([web], { full: true })
    const filled = kernel.iptables.inputs.flatMap((input) => [...input.matchAll(/^:(\S+)/gm)].map(([, chain]) => chain))
    expect(filled).toEqual(['KUBE-NODE-PORT'])
  })

  test('resets weights that are not 1; later ones leave them alone', async () => {
    const { kernel, sync } = proxiedNode()
    const webServer = { ...web, ip: web.clusterIP }
    await kernel.ipvs.apply(
      [
        { kind: 'add-server', server: { ...webServer, scheduler: 'rr', flags: 0, timeoutSeconds: 0 } },
        { kind: 'add-real-server', server: webServer, realServer: { ...there, weight: 0 } },
      ],
      never,
    )
    const weightOfThere = async () =>
      (await kernel.ipvs.realServers(webServer, never)).find(({ ip }) => ip === there.ip)?.weight
    await sync([web], { full: true })
    expect(await weightOfThere()).toBe(1)
    await kernel.ipvs.apply(
      [{ kind: 'edit-real-server', server: webServer, realServer: { ...there, weight: 3 } }],
      never,
    )
    await sync([web], { full: true })
    expect(await weightOfThere()).toBe(3)
  })
})

describe('addresses on the link', () => {
  const addresses = async ({ kernel }: Pick<ReturnType<typeof proxiedNode>, 'kernel'>) =>
    (await kernel.snapshot()).filter((line) => line.startsWith('address ')).map((line) => line.slice(8))

  test('are shared by the ports of a Service, and go with the last of them', async () => {
    const node = proxiedNode()
    const port = (name: string, port: number) => testRoute(`shop/web:${name}`, { port })
    await node.sync([port('a', 80), port('b', 443)], { full: true })
    await node.sync([port('a', 80)])
    expect(await addresses(node)).toEqual(['10.96.0.10'])
    await node.sync([])
    expect(await addresses(node)).toEqual([])
  })

  test('are not those that the node has anyway', async () => {
    const node = proxiedNode()
    await node.sync([testRoute('shop/web', { externalIPs: ['192.0.2.1', '198.51.100.7'] })], { full: true })
    expect(await addresses(node)).toEqual(['10.96.0.10', '198.51.100.7'])
    const snapshot = await node.kernel.snapshot()
    expect(snapshot).toContain('server 192.0.2.1:80/TCP rr 0 0')
    expect(snapshot).toContain('set KUBE-EXTERNAL-IP 192.0.2.1,tcp:80')
    expect(snapshot).not.toContain('set KUBE-IPVS-IPS 192.0.2.1')
  })

  test('of others are removed, but for the link-local ones of the kernel and those of the other family', async () => {
    const node = proxiedNode({ settings: { excludeCidrs: ['203.0.113.0/24'] } })
    await node.kernel.addresses.ensureDummy('kube-ipvs0', never)
    await node.kernel.addresses.add('kube-ipvs0', ['203.0.113.9', 'fd00::9', 'fe80::9'], never)
    await node.sync([web], { full: true })
    expect(await addresses(node)).toEqual(['10.96.0.10', 'fd00::9', 'fe80::9'])
  })

  test('come back after somebody deleted the link', async () => {
    const node = proxiedNode()
    await node.sync([web], { full: true })
    await node.kernel.addresses.removeDummy('kube-ipvs0', never)
    await node.sync([web, dns])
    expect(await addresses(node)).toEqual(['10.96.0.10', '10.96.0.11'])
  })
})

describe('virtual servers of others', () => {
  test('are deleted and named in a warning, unless they are excluded or of the other family', async () => {
    const log = new RecordingLogger()
    const { kernel, sync } = proxiedNode({ settings: { excludeCidrs: ['203.0.113.0/24'] }, log })
    for (const ip of ['203.0.113.9', '198.51.100.9', 'fd00::9'])
      await kernel.ipvs.apply([{ kind: 'add-server', server: foreign(ip) }], never)
    await sync([web], { full: true })
    const servers = (await kernel.ipvs.list(never)).map(({ ip }) => ip)
    expect(servers.sort()).toEqual(['10.96.0.10', '203.0.113.9', 'fd00::9'])
    expect(log.at('warn')).toMatchObject([
      { message: 'deleting virtual servers that belong to no Service', fields: { servers: ['198.51.100.9:8443/TCP'] } },
    ])
  })

  test('are made ours when a Service has that address', async () => {
    const { kernel, sync } = proxiedNode()
    await kernel.ipvs.apply([{ kind: 'add-server', server: foreign('10.96.0.10', { port: 80 }) }], never)
    await sync([web], { full: true })
    expect(await kernel.snapshot()).toContain('server 10.96.0.10:80/TCP rr 0 0')
    expect(kernel.ipvs.operations.map(({ kind }) => kind)).not.toContain('delete-server')
  })
})

describe('a sync of what changed', () => {
  const many = Array.from({ length: 300 }, (_, i) =>
    testRoute(`load/s${i}`, { clusterIP: `10.97.${i >> 8}.${i & 255}`, endpoints: [here, there] }),
  )

  test('writes nothing about other Services, and reads no more than the connections of what goes', async () => {
    const { kernel, sync } = proxiedNode()
    await sync(many, { full: true })
    const doors = [kernel.ipvs, kernel.ipset, kernel.addresses, kernel.iptables] as const
    for (const door of doors) door.reads = 0
    kernel.ipvs.operations.length = 0
    kernel.ipset.changes.length = 0
    kernel.iptables.inputs.length = 0
    const changed = testRoute('load/s7', { clusterIP: '10.97.0.7', endpoints: [here, testEndpoint('10.64.1.2', 8080)] })
    const { facts } = await sync(many.map((route) => (route.key === changed.key ? changed : route)))
    expect(kernel.ipvs.operations.map(({ kind, server }) => `${kind} ${server.ip}`)).toEqual([
      'add-real-server 10.97.0.7',
      'edit-real-server 10.97.0.7',
      'delete-real-server 10.97.0.7',
    ])
    expect([kernel.ipset.changes, kernel.iptables.inputs]).toEqual([[], []])
    expect(doors.map(({ reads }) => reads)).toEqual([1, 0, 0, 0])
    expect(facts).toEqual({ operations: 2, entries: 0, addresses: 0, rules: 0, draining: 0 })
  })

  test('edits a virtual server in place when affinity changes', async () => {
    const { kernel, sync } = proxiedNode()
    await sync([web], { full: true })
    kernel.ipvs.operations.length = 0
    await sync([{ ...web, affinitySeconds: 10_800 }])
    expect(kernel.ipvs.operations).toMatchObject([
      { kind: 'edit-server', server: { flags: 1, timeoutSeconds: 10_800, scheduler: 'rr' } },
    ])
  })

  test('writes rules only when a set gets its first entry or loses its last', async () => {
    const { kernel, sync } = proxiedNode()
    await sync([web], { full: true })
    kernel.iptables.inputs.length = 0
    const balanced = (name: string, ip: string) => testRoute(name, { clusterIP: ip, loadBalancerIPs: [`1${ip}`] })
    const [first, second] = [balanced('shop/a', '10.96.0.1'), balanced('shop/b', '10.96.0.2')]
    await sync([web, first])
    expect(kernel.iptables.inputs).toHaveLength(1)
    expect(kernel.iptables.inputs[0]).toContain('--match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER')
    expect(kernel.iptables.inputs[0]).not.toContain(':KUBE-IPVS-FILTER')
    await sync([web, first, second])
    await sync([web, second])
    expect(kernel.iptables.inputs).toHaveLength(1)
    await sync([web])
    expect(kernel.iptables.inputs).toHaveLength(2)
  })

  test('exchanges single rules for source ranges that leave the node out', async () => {
    const { kernel, sync } = proxiedNode()
    const [a, b] = [guarded('shop/a', '198.51.100.1'), guarded('shop/b', '198.51.100.2')]
    await sync([a], { full: true })
    kernel.iptables.inputs.length = 0
    await sync([a, b])
    await sync([b])
    const rule = (ip: string) => `KUBE-IPVS-OUT-FILTER -s ${ip} -m ipvs --vaddr ${ip} --vproto tcp --vport 80 -j DROP`
    expect(kernel.iptables.inputs).toEqual([
      `*filter\n-A ${rule('198.51.100.2')}\nCOMMIT\n`,
      `*filter\n-D ${rule('198.51.100.1')}\nCOMMIT\n`,
    ])
  })

  const vandals = {
    'all virtual servers': (kernel: ReturnType<typeof nodeKernel>) => kernel.ipvs.flush(never),
    'the link': (kernel) => kernel.addresses.removeDummy('kube-ipvs0', never),
    'the sets': async (kernel) => {
      for (const id of setIds) await kernel.ipset.destroy(setName(id, 'ipv4'), never)
    },
  } satisfies Record<string, (kernel: ReturnType<typeof nodeKernel>) => Promise<void>>
  for (const [what, destroy] of Object.entries(vandals))
    test(`repairs everything at once when it meets that somebody deleted ${what}`, async () => {
      const node = proxiedNode()
      await node.sync([web, dns], { full: true })
      await destroy(node.kernel)
      const changed = testRoute('shop/web', { ...webPort, affinitySeconds: 60, externalIPs: ['198.51.100.7'] })
      expect((await node.sync([changed, dns])).failed).toEqual([])
      const fresh = proxiedNode()
      await fresh.sync([changed, dns], { full: true })
      expect(await node.kernel.snapshot()).toEqual(await fresh.kernel.snapshot())
    })
})

describe('two Services that want the same address', () => {
  const early = testRoute('shop/a', { clusterIP: '10.96.0.1', externalIPs: ['198.51.100.1'], endpoints: [here] })
  const late = testRoute('shop/b', { clusterIP: '10.96.0.2', externalIPs: ['198.51.100.1'], endpoints: [there] })
  const behind = async ({ kernel }: ReturnType<typeof proxiedNode>, ip: string) =>
    (await kernel.ipvs.realServers({ ip, port: 80, protocol: 'TCP' }, never)).map((real) => real.ip)

  test('the first by name gets it, and the other one is told', async () => {
    const node = proxiedNode()
    await node.sync([late], { full: true })
    const { failed } = await node.sync([early, late])
    expect(await behind(node, '198.51.100.1')).toEqual([here.ip])
    expect(failed).toEqual([
      { key: late.key, reason: expect.stringContaining('198.51.100.1:80/TCP is an address of shop/a/TCP') },
    ])
    expect((await node.sync([late])).failed).toEqual([])
    expect(await behind(node, '198.51.100.1')).toEqual([there.ip])
  })

  test('a cluster IP cannot be taken by naming it', async () => {
    const node = proxiedNode()
    const thief = testRoute('aaa/thief', { clusterIP: '10.96.0.9', externalIPs: ['10.96.0.2'], endpoints: [here] })
    const { failed } = await node.sync([thief, late], { full: true })
    expect(await behind(node, '10.96.0.2')).toEqual([there.ip])
    expect(failed.map(({ key }) => key)).toEqual([thief.key])
  })
})

describe('when something is refused', () => {
  test('the Service of a refused virtual server is reported, and all others are served', async () => {
    const { kernel, sync } = proxiedNode()
    kernel.ipvs.refuse = ({ server }) => (server.ip === '10.96.0.10' ? 'refused' : undefined)
    const { failed } = await sync([web, dns], { full: true })
    expect(failed).toEqual([{ key: web.key, reason: expect.stringContaining('10.96.0.10:80/TCP') }])
    expect(await kernel.snapshot()).toContain('server 10.96.0.11:53/UDP -> 10.64.0.1 8080 weight 1')
    kernel.ipvs.refuse = () => undefined
    expect((await sync([{ ...web }, dns])).failed).toEqual([])
    expect(await kernel.snapshot()).toContain('server 10.96.0.10:80/TCP -> 10.64.1.1 8080 weight 1')
  })

  test('a Service whose address cannot be had has no virtual server there', async () => {
    const { kernel, sync } = proxiedNode()
    kernel.addresses.refusedIps = new Set(['10.96.0.10'])
    const { failed } = await sync([web, dns], { full: true })
    expect(failed).toEqual([{ key: web.key, reason: 'the test refuses to add 10.96.0.10' }])
    expect((await kernel.ipvs.list(never)).map(({ ip }) => ip)).toEqual(['10.96.0.11'])
    kernel.addresses.refusedIps = new Set()
    expect((await sync([{ ...web }, dns])).failed).toEqual([])
    expect(await kernel.ipvs.list(never)).toHaveLength(2)
  })

  test('a Service that does not fit into a full set is reported, and the others are served', async () => {
    const { kernel, sync } = proxiedNode()
    kernel.ipset.refuse = ({ entry }) => (entry.startsWith('10.96.0.11') ? 'full' : undefined)
    const { failed } = await sync([web, dns], { full: true })
    expect(failed.map(({ key }) => key)).toEqual([dns.key])
    expect(await kernel.snapshot()).toContain('set KUBE-CLUSTER-IP 10.96.0.10,tcp:80')
  })

  test('what cannot be deleted is tried again by the next sync', async () => {
    const { kernel, sync } = proxiedNode()
    await sync([web, dns], { full: true })
    kernel.ipvs.refuse = ({ kind }) => (kind === 'delete-server' ? 'refused' : undefined)
    kernel.ipset.refuse = ({ kind }) => (kind === 'delete' ? 'refused' : undefined)
    expect((await sync([web])).failed).toEqual([])
    kernel.ipvs.refuse = kernel.ipset.refuse = () => undefined
    await sync([{ ...web }])
    expect((await kernel.snapshot()).filter((line) => line.includes('10.96.0.11'))).toEqual([])
  })

  test('rules that only some kernels know are left out, and their Service is reported', async () => {
    const kernel = nodeKernel({ missingMatches: new Set(['ipvs']) })
    const { sync, failures } = proxiedNode({ kernel })
    const guarded = testRoute('shop/lb', {
      clusterIP: '10.96.0.12',
      loadBalancerIPs: ['198.51.100.1'],
      sourceRanges: ['203.0.113.0/24'],
    })
    const { failed } = await sync([web, guarded], { full: true })
    expect(failed).toEqual([{ key: guarded.key, reason: expect.stringContaining('ipvs') }])
    expect(failures.restore).toBe(1)
    expect(await kernel.iptables.save('nat', never)).toContain('KUBE-CLUSTER-IP')
  })

  test('nothing is taken away when the rules cannot be written', async () => {
    const { kernel, sync, failures } = proxiedNode()
    await sync([web, dns], { full: true })
    kernel.iptables.failWith = 'locked'
    await expect(sync([])).rejects.toMatchObject({ reason: 'locked' })
    expect(failures.restore).toBe(1)
    const snapshot = await kernel.snapshot()
    expect(snapshot).toContain('address 10.96.0.10')
    expect(snapshot).toContain('server 10.96.0.10:80/TCP -> 10.64.0.1 8080 weight 1')
    kernel.iptables.failWith = undefined
    await sync([], { full: true })
    expect(await kernel.ipvs.list(never)).toEqual([])
  })

  test('a set of another type stops the sync before anything is changed', async () => {
    const { kernel, sync } = proxiedNode()
    await kernel.ipset.ensure([{ name: 'KUBE-CLUSTER-IP', type: 'hash:ip', family: 'ipv4' }], never)
    await expect(sync([web], { full: true })).rejects.toMatchObject({ reason: 'exists' })
    expect([await kernel.ipvs.list(never), kernel.iptables.inputs]).toEqual([[], []])
  })
})
