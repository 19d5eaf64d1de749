/** API server, core, unix socket, backend, real packets: either of the two processes is killed under traffic. */
import { expect, test } from 'vitest'
import { Load } from '../packet/testing/load.ts'
import { describeEach } from '../packet/testing/proxies.ts'
import type { Proxy } from '../packet/testing/proxy.ts'
import { Rig } from '../packet/testing/rig.ts'
import { flowsTo, serviceFaults } from '../packet/testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf } from '../packet/testing/service-fixture.ts'
import type { ServiceFixture } from '../packet/testing/service-fixture.ts'
import { SplitProxy, splitEbpf, splitNftables, splitOnIptables } from './testing/split-proxy.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const changedWeb: ServiceFixture = { ...web, endpoints: ['here-1', 'here-3', 'there-2'] }

const inKernel = [splitNftables, splitEbpf, splitOnIptables('iptables', 'nft')]
const userspace = splitOnIptables('userspace', 'nft')

describeEach([...inKernel, userspace], (proxy) => {
  test('no connection fails when the core is killed, while it is away, and when it is back', async () => {
    await using rig = await startRig(proxy)
    await using load = new Load(rig, flowsTo(web))
    for (const wanted of [changedWeb, web]) {
      await rig.proxy.stopCore('SIGKILL')
      // What changes meanwhile is found when it is back.
      await rig.proxy.apply([...clusterObjects, ...objectsOf(wanted)])
      const answered = load.connections
      await expect.poll(() => load.connections, aWhile).toBeGreaterThan(answered + 10)
      rig.proxy.runCore()
      await rig.program([wanted])
      expect(await serviceFaults(rig, wanted)).toEqual([])
    }
    await load.stop()
    expect(load.failures).toEqual([])
  })

  test('a core that comes back with the same state makes the backend program nothing', async () => {
    await using rig = await startRig(proxy)
    // One for each family; what a process says comes later than what it does.
    await expect.poll(() => syncsIn(rig.proxy.log()), aWhile).toBeGreaterThanOrEqual(2)
    const before = syncsIn(rig.proxy.log())
    await rig.proxy.stopCore('SIGKILL')
    rig.proxy.runCore()
    await expect.poll(() => rig.proxy.log().match(/following a KPNG server/g)?.length, aWhile).toBe(2)
    expect(syncsIn(rig.proxy.log())).toBe(before)
    expect(await serviceFaults(rig, web)).toEqual([])
  })
})

// The relay of the userspace mode ends with its process.
describeEach(inKernel, (proxy) => {
  test('no connection fails when the backend is killed, while it is away, and when it is back', async () => {
    await using rig = await startRig(proxy)
    await using load = new Load(rig, flowsTo(web))
    await rig.proxy.stop('SIGKILL')
    await rig.proxy.apply([...clusterObjects, ...objectsOf(changedWeb)])
    const answered = load.connections
    await expect.poll(() => load.connections, aWhile).toBeGreaterThan(answered + 10)
    rig.proxy.run()
    await rig.program([changedWeb])
    expect(await serviceFaults(rig, changedWeb)).toEqual([])
    await load.stop()
    expect(load.failures).toEqual([])
  })
})

type SplitRig = Rig & { readonly proxy: SplitProxy }

async function startRig(proxy: Proxy): Promise<SplitRig> {
  const rig = await Rig.start(proxy, {}, [web])
  expect(rig.proxy).toBeInstanceOf(SplitProxy)
  return rig as SplitRig
}

function syncsIn(log: string): number {
  return log.match(/"synced"/g)?.length ?? 0
}

const aWhile = { timeout: 40_000, interval: 20 }
