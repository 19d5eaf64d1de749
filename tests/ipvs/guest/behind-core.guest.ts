/** The ipvs mode behind a KPNG core, which goes and comes back. */
import { expect, test } from 'vitest'
import { SplitProxy } from '../../kpng-packets/testing/split-proxy.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { serviceFaults } from '../../packet/testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf } from '../../packet/testing/service-fixture.ts'
import type { ServiceFixture } from '../../packet/testing/service-fixture.ts'
import { prepareNode } from './testing/ipvs-proxies.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const changedWeb: ServiceFixture = { ...web, endpoints: ['here-1', 'here-3'] }

test('a backend behind a core serves, keeps on while the core is away, and follows it when it is back', async () => {
  let split: SplitProxy | undefined
  await using rig = await Rig.startWith(
    async (cluster) => {
      prepareNode(cluster)
      return (split = await SplitProxy.start(cluster, 'ipvs', {}))
    },
    [web],
  )
  // Virtual servers answer before the rules are there that masquerade.
  const works = async (service: ServiceFixture) => {
    await expect.poll(() => serviceFaults(rig, service), { timeout: 100_000, interval: 500 }).toEqual([])
  }
  await works(web)
  await split?.stopCore('SIGKILL')
  await rig.proxy.apply([...clusterObjects, ...objectsOf(changedWeb)])
  expect(await serviceFaults(rig, web)).toEqual([])
  split?.runCore()
  await rig.program([changedWeb])
  await works(changedWeb)
})
