/** What others do to a Windows node, and what is left of a process. */
import { EventEmitter, once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { testRoute } from '../../../core/testing/routes.ts'
import type { Exec } from '../../../dataplane/exec/exec.ts'
import { MemoryOwnedObjects } from '../../../dataplane/owned-objects/memory-owned-objects.ts'
import { CommandNetsh } from '../../../dataplane/netsh/command-netsh.ts'
import { MemoryNetsh } from '../../../dataplane/netsh/memory-netsh.ts'
import { NetshError } from '../../../dataplane/netsh/netsh.ts'
import { ask } from '../../../dataplane/relay/testing/clients.ts'
import { freePort, isWholeLoopbackLocal, ownLoopback } from '../../../dataplane/relay/testing/own-loopback.ts'
import { pods, WindowsNode } from './testing/windows-node.ts'

const never = new AbortController().signal

const [one, two, three, four] = [11, 12, 13, 14].map((host) => ownLoopback(host)) as [string, string, string, string]
const soonMs = 10_000

describe.runIf(isWholeLoopbackLocal)('on a Windows node', () => {
  test('an address that somebody removes is back within ten seconds, with a new listener', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    const web = testRoute('shop/web', { clusterIP: one, port: await freePort(), endpoints: await pods('a') })
    await node.applyRoutes(web)
    await ask({ ip: one, port: web.port })
    node.watch()
    await node.clock.advance(5_000)
    expect(node.found).toEqual([])
    netsh.ips.delete(one)
    await node.clock.advance(soonMs)
    expect(node.found).toEqual([`the interface "vEthernet (HNS Internal NIC)" has lost the address ${one}`])
    expect([...netsh.ips]).toEqual([one])
    // Windows may not revive the one whose address was gone.
    await expect.poll(() => node.relay.stats().listeners).toMatchObject([{ connections: 0 }])
    expect(await ask({ ip: one, port: web.port })).toBe('a')
    expect((await node.backend.traffic(never)).get(web.key)).toMatchObject({ connections: 2 })
  })

  test('a look at the addresses of the machine tells of a lost one sooner than netsh', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh, localIps: () => [...netsh.ips] })
    await node.applyRoutes(testRoute('shop/web', { clusterIP: one, port: await freePort() }))
    node.watch()
    await node.clock.advance(4_000)
    netsh.ips.delete(one)
    await node.clock.advance(1_000)
    expect(node.found).toHaveLength(1)
  })

  test('a port that another program had is taken within ten seconds, without a sync', async () => {
    const node = new WindowsNode()
    const other = createServer().listen({ port: 0, host: one })
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { failed } = await node.applyRoutes(
      testRoute('shop/web', { clusterIP: one, port, endpoints: await pods('a') }),
    )
    expect(failed).toMatchObject([{ key: 'shop/web/TCP' }])
    node.watch()
    await node.clock.advance(2_000)
    other.close()
    await once(other, 'close')
    await node.clock.advance(soonMs)
    await expect.poll(() => ask({ ip: one, port })).toBe('a')
    expect(node.found).toEqual([])
  })

  test('an address that could not be added is added within ten seconds, without a sync', async () => {
    const netsh = new MemoryNetsh()
    netsh.refusedIp = one
    const node = new WindowsNode({ netsh })
    const web = testRoute('shop/web', { clusterIP: one, port: await freePort(), endpoints: await pods('a') })
    const { failed } = await node.applyRoutes(web)
    expect(failed).toEqual([
      {
        key: web.key,
        reason: `cluster-ip: netsh did not add ${one} to the interface "vEthernet (HNS Internal NIC)": no`,
      },
    ])
    expect(await ask({ ip: one, port: web.port })).toBe('ECONNREFUSED')
    node.watch()
    netsh.refusedIp = undefined
    await node.clock.advance(soonMs)
    await expect.poll(() => ask({ ip: one, port: web.port })).toBe('a')
    expect(node.found).toEqual([])
  })

  test('after a crash the next process takes over what is there, and removes what nobody needs any more', async () => {
    const [netsh, owned] = [new MemoryNetsh(), new MemoryOwnedObjects()]
    netsh.ips.add(three)
    const routes = [
      testRoute('shop/stays', { clusterIP: one, port: await freePort() }),
      testRoute('shop/goes', { clusterIP: two, port: await freePort() }),
      testRoute('shop/foreign', { clusterIP: three, port: await freePort() }),
    ] as const
    const before = new WindowsNode({ netsh, owned })
    await before.applyRoutes(...routes)
    expect(owned.list()).toEqual([one, two].map((ip) => `address ${ip} on vEthernet (HNS Internal NIC)`))
    await before.relay[Symbol.asyncDispose]()

    const after = new WindowsNode({ netsh, owned })
    expect(await after.applyRoutes(routes[0])).toMatchObject({ failed: [] })
    expect([...netsh.ips].sort()).toEqual([one, three])
    expect(owned.list()).toEqual([`address ${one} on vEthernet (HNS Internal NIC)`])
    await after.applyRoutes()
    expect([...netsh.ips]).toEqual([three])
  })

  test('without the interface node ports are served, and the sync fails with the way out', async () => {
    const netsh = new MemoryNetsh()
    netsh.hasInterface = false
    const node = new WindowsNode({ netsh })
    const nodePort = await freePort()
    const web = testRoute('shop/web', { clusterIP: one, port: await freePort(), nodePort, endpoints: await pods('a') })
    await expect(node.applyRoutes(web)).rejects.toMatchObject({ reason: 'no-such-interface' })
    expect(node.listening).toEqual([`TCP 0.0.0.0:${nodePort}`])
    expect(await ask({ ip: '127.0.0.1', port: nodePort })).toBe('a')
    netsh.hasInterface = true
    expect(await node.sync()).toMatchObject({ failed: [] })
    expect(await ask({ ip: one, port: web.port })).toBe('a')
  })

  test('node ports are open only where nodePortAddresses says, also when the machine gets another address', async () => {
    let localIps = [two]
    const node = new WindowsNode({ localIps: () => localIps, nodePortAddresses: [`${two}/32`, `${three}/32`] })
    const nodePort = await freePort()
    const web = testRoute('shop/web', { clusterIP: one, port: await freePort(), nodePort, endpoints: await pods('a') })
    await node.applyRoutes(web)
    expect(await ask({ ip: two, port: nodePort })).toBe('a')
    expect(await ask({ ip: three, port: nodePort })).toBe('ECONNREFUSED')
    node.watch()
    localIps = [two, three]
    await node.clock.advance(1_000)
    expect(node.found).toEqual([
      'node ports are to be open on other addresses, because those of this machine have changed',
    ])
    await expect.poll(() => ask({ ip: three, port: nodePort })).toBe('a')
  })

  test('an address that could not be removed at the end is named, and known to the next process', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    await node.applyRoutes(testRoute('shop/web', { clusterIP: one, port: await freePort() }))
    netsh.isAdministrator = false
    await node.backend[Symbol.asyncDispose]()
    expect(node.listening).toEqual([])
    expect(node.log.at('warn')).toEqual([
      {
        level: 'warn',
        message: 'could not remove addresses of Services, which lead nowhere: run fairlead --cleanup',
        fields: {
          interface: 'vEthernet (HNS Internal NIC)',
          addresses: [one],
          others: 0,
          reason: expect.stringContaining('run Fairlead as an administrator') as string,
        },
      },
    ])
    expect(node.owned.list()).toHaveLength(1)
  })

  test('an end that takes too long stops after ten seconds, and says how much is left', async () => {
    const netsh = new MemoryNetsh()
    const clock = new FakeClock()
    const node = new WindowsNode({ netsh: tedious(netsh, clock), clock })
    const ips = Array.from({ length: 600 }, (_, index) => `10.96.${index >> 8}.${index & 255}`)
    for (const ip of ['10.97.0.1', ...ips]) netsh.ips.add(ip)
    await node.owned.add(ips.map((ip) => `address ${ip} on ${netsh.interfaceName}`))
    let hasEnded = false
    const ending = node.backend[Symbol.asyncDispose]().then(() => (hasEnded = true))
    await clock.advance(9_999)
    expect(hasEnded).toBe(false)
    await clock.advance(1)
    await ending
    // Four at a time, each for a tenth of a second, which makes 99 times before the end.
    const left = ips.slice(4 * 99)
    expect([...netsh.ips]).toEqual(['10.97.0.1', ...left])
    expect(node.owned.list().map((line) => line.split(' ')[1])).toEqual(left)
    expect(node.log.at('warn')).toEqual([
      {
        level: 'warn',
        message: 'could not remove addresses of Services, which lead nowhere: run fairlead --cleanup',
        fields: {
          interface: 'vEthernet (HNS Internal NIC)',
          addresses: left.slice(0, 10),
          others: left.length - 10,
          reason: 'removing them took longer than 10 s',
        },
      },
    ])
    expect(clock.sleeping).toBe(0)
  })

  test('an address that is wanted again while it is removed is added again', async () => {
    const netsh = new MemoryNetsh()
    const slow = slowRemoval(netsh)
    const node = new WindowsNode({ netsh: slow.netsh })
    const web = testRoute('shop/web', { clusterIP: one, port: await freePort(), endpoints: await pods('a') })
    await node.applyRoutes(web)
    const removing = node.applyRoutes()
    await slow.isRemoving
    await node.clock.advance(1_000)
    await removing
    const coming = node.applyRoutes(web)
    slow.goOn()
    await coming
    await expect.poll(() => ask({ ip: one, port: web.port })).toBe('a')
    expect([...netsh.ips]).toEqual([one])
  })

  test('an address that took too long is ours all the same, and goes with its Service', async () => {
    const memory = new MemoryNetsh()
    const node = new WindowsNode({ netsh: lateOnce(memory) })
    const web = testRoute('shop/web', { clusterIP: one, port: await freePort(), endpoints: await pods('a') })
    expect(await node.applyRoutes(web)).toMatchObject({ failed: [{ key: web.key }] })
    expect(await node.sync([])).toMatchObject({ failed: [] })
    expect(await ask({ ip: one, port: web.port })).toBe('a')
    await node.applyRoutes()
    expect([...memory.ips]).toEqual([])
  })

  test('node ports are not opened on the addresses of Services', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({
      netsh,
      localIps: () => [two, ...netsh.ips],
      nodePortAddresses: ['127.0.0.0/8'],
    })
    const [port, nodePort] = [await freePort(), await freePort()]
    await node.applyRoutes(testRoute('shop/web', { clusterIP: one, port, nodePort }))
    await node.sync([])
    expect(node.listening).toEqual([`TCP ${one}:${port}`, `TCP ${two}:${nodePort}`])
  })

  test('any sync tries again what is not served yet, and follows the addresses of the machine', async () => {
    let localIps = [two]
    const node = new WindowsNode({ localIps: () => localIps, nodePortAddresses: ['127.0.0.0/8'] })
    const other = createServer().listen({ port: 0, host: one })
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const web = testRoute('shop/web', { clusterIP: one, port, endpoints: await pods('a') })
    const nodePort = await freePort()
    const more = testRoute('shop/more', { clusterIP: three, port, nodePort, endpoints: await pods('b') })
    await node.applyRoutes(web, more)
    other.close()
    await once(other, 'close')
    expect(await node.sync([more.key])).toMatchObject({ failed: [] })
    expect(await ask({ ip: one, port })).toBe('a')
    localIps = [four]
    await node.sync([web.key])
    expect(await ask({ ip: four, port: nodePort })).toBe('b')
    expect(await ask({ ip: two, port: nodePort })).toBe('ECONNREFUSED')
  })

  test('a Service that was never served leaves no address behind, even if nobody told that it went', async () => {
    const netsh = new MemoryNetsh()
    const node = new WindowsNode({ netsh })
    const other = createServer().listen({ port: 0, host: one })
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const failing = await node.applyRoutes(testRoute('shop/web', { clusterIP: one, port }))
    expect(failing.failed).toHaveLength(1)
    expect([...netsh.ips]).toEqual([one])
    await node.forgetAll()
    expect([...netsh.ips]).toEqual([])
    other.close()
  })
})

/** The first address is there, but too late for whoever asked. */
function lateOnce(memory: MemoryNetsh) {
  let isLate = true
  return {
    interfaceName: memory.interfaceName,
    list: memory.list.bind(memory),
    remove: memory.remove.bind(memory),
    async add(ip: string, signal: AbortSignal) {
      const outcome = await memory.add(ip, signal)
      if (!isLate) return outcome
      isLate = false
      throw new NetshError('not-usable', 'not yet')
    },
  }
}

/** The program itself, of which each run takes a tenth of a second. */
function tedious(memory: MemoryNetsh, clock: FakeClock) {
  const exec: Exec = async (_, args, { signal }) => {
    await clock.sleep(100, signal)
    const ip = args.find((arg) => arg.startsWith('address='))?.slice('address='.length) ?? ''
    if (args.includes('delete')) memory.ips.delete(ip)
    return { exitCode: 0, signal: null, stdout: '', stderr: '' }
  }
  return new CommandNetsh({ exec, interfaceName: memory.interfaceName, clock })
}

/** Removals take until `goOn`. */
function slowRemoval(memory: MemoryNetsh) {
  const events = new EventEmitter()
  const isRemoving = once(events, 'removing')
  const goesOn = once(events, 'go on')
  return {
    isRemoving,
    goOn: () => events.emit('go on'),
    netsh: {
      interfaceName: memory.interfaceName,
      list: memory.list.bind(memory),
      add: memory.add.bind(memory),
      async remove(ip: string, signal: AbortSignal) {
        events.emit('removing')
        await goesOn
        await memory.remove(ip, signal)
      },
    },
  }
}
