import { expect, test } from 'vitest'
import { Load } from './testing/load.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const changedWeb: ServiceFixture = { ...web, endpoints: ['here-1', 'here-3', 'there-2'] }

describeEach(allProxies, (proxy) => {
  test.each(['SIGTERM', 'SIGKILL'] as const)('no connection fails while the proxy is away (%s)', async (signal) => {
    await using rig = await Rig.start(proxy, {}, [web])
    await using load = new Load(rig, flowsTo(web))
    for (const wanted of [web, changedWeb, web]) {
      await rig.proxy.stop(signal)
      // What changes meanwhile is found when it is back.
      await rig.proxy.apply([...clusterObjects, ...objectsOf(wanted)])
      const answered = load.connections
      await expect.poll(() => load.connections, aWhile).toBeGreaterThan(answered + 10)
      rig.proxy.run()
      await rig.program([wanted])
      expect(await serviceFaults(rig, wanted)).toEqual([])
    }
    await load.stop()
    expect(load.failures).toEqual([])
  })
})

const aWhile = { timeout: 40_000, interval: 20 }
