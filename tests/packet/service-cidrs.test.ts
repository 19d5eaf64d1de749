import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { flowFaults } from './testing/observe.ts'
import { allProxies, describeEach, skipped } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, dropped, untouched } from './testing/row.ts'
import type { Expectation } from './testing/row.ts'
import { clusterObjects, givenService, objectsOf, serviceCidrObject } from './testing/service-fixture.ts'

const web = givenService('web', 1, { endpoints: ['here-1'] })
/** Nobody has its addresses: no object of it exists. */
const nobody = givenService('nobody', 2, { type: 'LoadBalancer' })
const objects = [...clusterObjects, ...objectsOf(web)]

const nftablesProxies = [...allProxies.filter(({ mode }) => mode === 'nftables'), fairleadEbpf]

describeEach(nftablesProxies, (proxy) => {
  const obstacle = proxy.cannot['ServiceCIDRs at once']

  test.skipIf(obstacle !== undefined)(
    `addresses of a new ServiceCIDR are dropped without any other event, and not when it is gone${skipped(obstacle)}`,
    async () => {
      await using rig = await Rig.start(proxy, {}, [web])
      const faults = (expectation: Expectation) => {
        const flows = families.flatMap((family) =>
          (['caller', 'node'] as const).map((from) => ({ from, to: at('VIP', nobody), family, expectation })),
        )
        return flowFaults(rig, flows)
      }
      // The beacon of the rig goes with this; the rest is for the ServiceCIDR alone.
      await rig.proxy.apply(objects)
      await expect.poll(() => faults(untouched), patience).toEqual([])
      await rig.proxy.apply([...objects, serviceCidrObject('more', (plan) => plan.publicRange)])
      await expect.poll(() => faults(dropped), patience).toEqual([])
      await rig.proxy.apply(objects)
      await expect.poll(() => faults(untouched), patience).toEqual([])
    },
  )
})

const patience = { timeout: 40_000, interval: 50 }
