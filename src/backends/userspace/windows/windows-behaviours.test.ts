/** The behaviours of kube-proxy's winuserspace mode, by their numbers in its specification. Those of netsh: src/dataplane/netsh. */
import { describe, expect, test } from 'vitest'
import { routeKey } from '../../../core/route.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import type { Exec } from '../../../dataplane/exec/exec.ts'
import { testRoute } from '../../../core/testing/routes.ts'
import { CommandNetsh } from '../../../dataplane/netsh/command-netsh.ts'
import { MemoryNetsh } from '../../../dataplane/netsh/memory-netsh.ts'
import { ask, askTimes, udpClient } from '../../../dataplane/relay/testing/clients.ts'
import { freePort, isWholeLoopbackLocal, ownLoopback } from '../../../dataplane/relay/testing/own-loopback.ts'
import { use } from '../../../dataplane/relay/testing/relay-under-test.ts'
import { pods, WindowsNode, web } from './testing/windows-node.ts'

const [one, two, three, four] = [1, 2, 3, 4].map((host) => ownLoopback(host)) as [string, string, string, string]
describe.runIf(isWholeLoopbackLocal)('on a Windows node', () => {
  test('103: TCP and UDP are carried through a port on all interfaces', async () => {
    const node = new WindowsNode()
    const [tcp, udp] = [await freePort(), await freePort()]
    const ports = [
      { name: 't', port: await freePort(), nodePort: tcp },
      { name: 'u', port: await freePort(), nodePort: udp, protocol: 'UDP' },
    ] as const
    expect(await node.apply(await web('web', ports, { clusterIP: one }))).toMatchObject({ failed: [] })
    expect(await ask({ ip: '127.0.0.1', port: tcp })).toBe('a')
    expect(await use(await udpClient()).ask({ ip: '127.0.0.1', port: udp }, 'hello')).toBe('a:hello')
    expect(node.listening).toEqual(
      [`TCP 0.0.0.0:${tcp}`, `TCP ${one}:${ports[0].port}`, `UDP 0.0.0.0:${udp}`, `UDP ${one}:${ports[1].port}`].sort(),
    )
  })

  test('104: each port of a Service has a listener on its address, and others have none', async () => {
    const node = new WindowsNode()
    const [p, q] = [await freePort(), await freePort()]
    const ports = [
      { name: 'p', port: p },
      { name: 'q', port: q, protocol: 'UDP' },
    ] as const
    await node.apply(await web('web', ports, { clusterIP: one }))
    expect(node.listening).toEqual([`TCP ${one}:${p}`, `UDP ${one}:${q}`])
    expect(node.addressesOf('shop/web:p/TCP')).toMatchObject([{ ip: one, port: p }])
    expect(node.addressesOf('shop/web:q/UDP')).toMatchObject([{ ip: one, port: q }])
    expect(node.addressesOf('shop/web:x/TCP')).toEqual([])
  })

  test('105: at the end nothing listens, and our addresses are gone', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    const port = await freePort()
    await node.apply(await web('web', [{ port }], { clusterIP: one }))
    expect([...netsh.ips]).toEqual([one])
    await node.backend[Symbol.asyncDispose]()
    expect(node.listening).toEqual([])
    expect(await ask({ ip: one, port })).toBe('ECONNREFUSED')
    expect([...netsh.ips]).toEqual([])
    expect(node.owned.list()).toEqual([])
  })

  test('106: a deleted Service is closed; when it comes back, it serves', async () => {
    const node = new WindowsNode()
    const port = await freePort()
    const objects = await web('web', [{ port }], { clusterIP: one })
    await node.apply(objects)
    await node.apply()
    expect(await ask({ ip: one, port })).toBe('ECONNREFUSED')
    await node.apply(objects)
    expect(await ask({ ip: one, port })).toBe('a')
  })

  test('107: a Service that changes its port leaves the old one', async () => {
    const node = new WindowsNode()
    const [before, after] = [await freePort(), await freePort()]
    await node.apply(await web('web', [{ port: before }], { clusterIP: one }))
    await node.apply(await web('web', [{ port: after }], { clusterIP: one }))
    expect(await ask({ ip: one, port: before })).toBe('ECONNREFUSED')
    expect(await ask({ ip: one, port: after })).toBe('a')
    expect(node.listening).toEqual([`TCP ${one}:${after}`])
  })

  test('108: an external IP that is the cluster IP, too, has one listener and one address', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    const port = await freePort()
    await node.applyRoutes(testRoute('shop/web', { clusterIP: one, port, externalIPs: [one] }))
    expect(node.listening).toEqual([`TCP ${one}:${port}`])
    expect([...netsh.ips]).toEqual([one])
  })

  test('108, unlike upstream: a Service that only spells its affinity differently keeps its listener', async () => {
    const node = new WindowsNode()
    const port = await freePort()
    const objects = await web('web', [{ port }], { clusterIP: one, sessionAffinity: 'None' })
    await node.apply(objects)
    await ask({ ip: one, port })
    await node.apply(await web('web', [{ port }], { clusterIP: one }))
    // A new one would count from zero.
    expect(node.relay.stats().listeners).toMatchObject([{ connections: 1 }])
  })

  test.each(['', 'None'])('109: with the cluster IP %j nothing is served', async (clusterIP) => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    const port = await freePort()
    await node.apply(await web('web', [{ port }], { clusterIP: one }))
    await node.apply(await web('web', [{ port }], { clusterIP }))
    expect(node.listening).toEqual([])
    expect([...netsh.ips]).toEqual([])
    await node.apply(await web('web', [{ port }], { clusterIP: one }))
    expect(await ask({ ip: one, port })).toBe('a')
  })

  test('110: an address that the interface has already is used and not added', async () => {
    const netsh = new MemoryNetsh()
    netsh.ips.add(one)
    const node = new WindowsNode({ netsh })
    const port = await freePort()
    await node.apply(await web('web', [{ port }], { clusterIP: one }))
    expect(await ask({ ip: one, port })).toBe('a')
    await node.apply()
    expect([...netsh.ips]).toEqual([one])
  })

  test('111: an address that another interface has is used and left there', async () => {
    const netsh = new MemoryNetsh()
    netsh.elsewhere.add(two)
    const node = new WindowsNode({ netsh })
    const port = await freePort()
    await node.applyRoutes(
      testRoute('shop/web', { clusterIP: one, port, externalIPs: [two], endpoints: await pods('a') }),
    )
    expect(await ask({ ip: two, port })).toBe('a')
    expect([...netsh.ips]).toEqual([one])
    expect(node.owned.list()).toEqual([`address ${one} on vEthernet (HNS Internal NIC)`])
  })

  test('116: an address stays while one port needs it, and is removed once', async () => {
    const netsh = new MemoryNetsh()
    const removed: string[] = []
    const node = new WindowsNode({
      netsh: listening(netsh, (ip) => removed.push(ip)),
    })
    const ports = [
      { name: 'p', port: await freePort() },
      { name: 'q', port: await freePort() },
    ] as const
    await node.apply(await web('web', ports, { clusterIP: one }))
    await node.apply(await web('web', [ports[1]], { clusterIP: one }))
    expect([...netsh.ips]).toEqual([one])
    expect(await ask({ ip: one, port: ports[1].port })).toBe('a')
    expect(removed).toEqual([])
    await node.apply()
    expect([...netsh.ips]).toEqual([])
    expect(removed).toEqual([one])
  })

  test('116: an external IP of two Services stays until the second one goes', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    const [p, q] = [await freePort(), await freePort()]
    const first = testRoute('shop/first', { clusterIP: one, port: p, externalIPs: [three], endpoints: await pods('a') })
    const second = testRoute('shop/second', {
      clusterIP: two,
      port: q,
      externalIPs: [three],
      endpoints: await pods('b'),
    })
    await node.applyRoutes(first, second)
    await node.applyRoutes(second)
    expect([...netsh.ips].sort()).toEqual([two, three])
    expect(await ask({ ip: three, port: q })).toBe('b')
    await node.apply()
    expect([...netsh.ips]).toEqual([])
  })

  test('117: a port that gets another name goes on serving, at an address that is never gone', async () => {
    const netsh = new MemoryNetsh()
    const removed: string[] = []
    const node = new WindowsNode({
      netsh: listening(netsh, (ip) => removed.push(ip)),
    })
    const port = await freePort()
    await node.apply(await web('web', [{ name: 'old', port }], { clusterIP: one }))
    const { failed } = await node.apply(await web('web', [{ name: 'new', port }], { clusterIP: one }))
    expect(failed).toEqual([])
    expect(await ask({ ip: one, port })).toBe('a')
    expect(removed).toEqual([])
  })

  test('118: an address that never appears fails after 30 s, and others are served at once', async () => {
    const clock = new FakeClock()
    const node = new WindowsNode({ clock, netsh: new CommandNetsh(stuckAt(one, clock)) })
    const port = await freePort()
    const [stuck, good] = [
      await web('stuck', [{ port }], { clusterIP: one }),
      await web('good', [{ port }], { clusterIP: two }, { pods: ['good'] }),
    ]
    const first = node.apply(stuck, good)
    await expect.poll(() => ask({ ip: two, port })).toBe('good')
    await clock.advance(1_000)
    expect(await first).toMatchObject({ failed: [], facts: { waiting: 1 } })

    // Another Service, another sync: nobody waits for the one that is stuck.
    const later = await web('later', [{ port }], { clusterIP: three }, { pods: ['later'] })
    expect(await node.apply(stuck, good, later)).toMatchObject({ failed: [] })
    expect(await ask({ ip: three, port })).toBe('later')

    await clock.advance(30_000)
    expect(node.log.at('warn')).toMatchObject([
      {
        message: 'an address of a Service could not be added; it is tried again',
        fields: { address: one, error: { reason: 'not-usable' } },
      },
    ])
    // Any sync tells of it, also one that is about another Service.
    const { failed } = await node.sync([routeKey('shop', 'good', '', 'TCP')])
    expect(failed).toMatchObject([{ key: 'shop/stuck/TCP' }])
    expect(failed[0]?.reason).toContain(`cluster-ip: ${one} was added to the interface`)
    expect(await ask({ ip: two, port })).toBe('good')
    const ending = node.backend[Symbol.asyncDispose]()
    await clock.advance(0)
    await ending
    expect(clock.sleeping).toBe(0)
  })

  test('118: many addresses that are stuck at once are no reason for a warning of Node.js', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    const clock = new FakeClock()
    const node = new WindowsNode({
      clock,
      netsh: new CommandNetsh({ ...stuckAt('', clock), canUse: async () => false }),
    })
    const ips = Array.from({ length: 20 }, (_, index) => `10.96.0.${index + 1}`)
    const syncing = node.applyRoutes(...ips.map((clusterIP, index) => testRoute(`shop/web-${index}`, { clusterIP })))
    await clock.advance(1_000)
    expect(await syncing).toMatchObject({ facts: { waiting: 20 } })
    const ending = node.backend[Symbol.asyncDispose]()
    await clock.advance(0)
    await ending
    process.off('warning', note)
    expect(warnings).toEqual([])
    expect(clock.sleeping).toBe(0)
  })

  test('119: a load balancer with nothing but a host name opens no port on all interfaces', async () => {
    const node = new WindowsNode()
    const port = await freePort()
    const status = { loadBalancer: { ingress: [{ hostname: 'shop.example.org' }] } }
    const spec = { clusterIP: one, type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }
    await node.apply(await web('web', [{ port }], spec, { status }))
    expect(node.listening).toEqual([`TCP ${one}:${port}`])
    expect(await ask({ ip: '127.0.0.1', port })).toBe('ECONNREFUSED')
  })

  test('120: three addresses of a Service share one memory of its clients, which time empties once for all of them', async () => {
    const relayClock = new FakeClock()
    const node = new WindowsNode({ relayClock })
    const port = await freePort()
    const place = { clusterIP: one, externalIPs: [two, three], port, affinitySeconds: 60 }
    await node.applyRoutes(testRoute('shop/web', { ...place, endpoints: await pods('a', 'b', 'c', 'd') }))
    expect(node.relay.stats()).toMatchObject({ pools: 1, listeners: [{}, {}, {}] })
    const first = await ask({ ip: one, port })
    // Whichever address the client asks, its time starts anew.
    for (const ip of [two, three, one]) {
      await relayClock.advance(59_999)
      expect(await ask({ ip, port })).toBe(first)
    }
    await relayClock.advance(60_000)
    const next = await ask({ ip: two, port })
    expect(next).not.toBe(first)
    for (const ip of [one, three, two]) expect(await ask({ ip, port })).toBe(next)
  })

  test('endpoints that go after their Service harm nobody', async () => {
    const node = new WindowsNode()
    const port = await freePort()
    const objects = await web('web', [{ port }], { clusterIP: one }, { pods: ['a', 'b'] })
    await node.apply(objects)
    expect(await askTimes({ ip: one, port }, 4)).toEqual({ a: 2, b: 2 })
    await node.apply()
    expect(
      await node.apply({ ...objects, service: (await web('other', [{ port }], { clusterIP: four })).service }),
    ).toMatchObject({ failed: [] })
  })
})

/** Tells of each address that is removed. */
function listening(netsh: MemoryNetsh, onRemove: (ip: string) => void): MemoryNetsh {
  return new Proxy(netsh, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (property === 'remove') onRemove(String(args[0]))
        return Reflect.apply(value, target, args)
      }
    },
  })
}

/** A netsh that takes every address, and never shows this one. */
function stuckAt(stuckIp: string, clock: FakeClock) {
  const ips = new Set<string>()
  const exec: Exec = async (_, args) => {
    const ip = /^address=(.*)/.exec(args.find((arg) => arg.startsWith('address=')) ?? '')?.[1] ?? ''
    if (args.includes('add')) ips.add(ip)
    if (args.includes('delete')) ips.delete(ip)
    const shown = [...ips].filter((each) => each !== stuckIp).map((each) => `IP Address: ${each}\r\n`)
    return { exitCode: 0, signal: null, stdout: shown.join(''), stderr: '' }
  }
  return { exec, interfaceName: 'vEthernet (HNS Internal NIC)', clock, canUse: async () => true }
}
