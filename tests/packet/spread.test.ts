import { afterAll, beforeAll, expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { PodName } from './testing/address-plan.ts'
import { podPorts } from './testing/cluster.ts'
import { Explained } from './testing/explained.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { Load } from './testing/load.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService, targetsOf, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'
import { chiSquare, farFromShare, tallyAnswers } from './testing/tally.ts'

const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
/** Clear of what pods listen on anyway. */
const manyPort: PortFixture = { ...webPort, target: 9000 }
const pods = ['here-1', 'here-2', 'there-1', 'there-2', 'here-3'] as const

const two = givenService('two', 1, { ports: [webPort, udpPort], endpoints: pods.slice(0, 2) })
const three = givenService('three', 2, { ports: [webPort, udpPort], endpoints: pods.slice(0, 3) })
const ten = givenService('ten', 3, { ports: [manyPort], endpoints: pods, serversPerPod: 2 })
const hundred = givenService('hundred', 4, { ports: [manyPort], endpoints: pods, serversPerPod: 20 })
const services = [two, three, ten, hundred]

/** With fair dice, one of these is exceeded once in a million times. */
const chiSquareBounds: readonly (readonly [service: ServiceFixture, connections: number, bound: number])[] = [
  [two, 200, 24],
  [three, 300, 28],
  [ten, 600, 46],
  [hundred, 2000, 182],
]

describeEach([...allProxies, fairleadEbpf, fairleadUserspace('nft')], (proxy) => {
  let rig: Rig
  let explained: Explained
  beforeAll(async () => {
    explained = await Explained.of({ mode: proxy.mode, settings: {}, services })
    rig = await Rig.start(proxy, {}, services)
    for (const pod of pods) rig.cluster.listenOnPod(pod, targetsOf(hundred, manyPort))
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  test.each(chiSquareBounds)(
    'connections are spread evenly over the endpoints of $name',
    async (service, times, bound) => {
      for (const family of families)
        for (const port of service.ports) {
          const target = at('cluster IP', service, port)
          const counts = await tallyAnswers(rig, 'caller', target, family, times)
          expect(farFromShare(counts, explained.shares('caller', target, family))).toEqual([])
          expect([...counts.keys()].sort()).toEqual(endpointsOf(service, port))
          const distance = chiSquare([...counts.values()])
          expect(distance, `${family} ${port.name}: ${JSON.stringify([...counts])}`).toBeLessThan(bound)
        }
    },
  )

  test('connections are spread evenly also while endpoints come and go', async () => {
    const [first, second, ...others] = pods
    await using load = new Load(
      rig,
      families.map((family) => ({ from: 'caller', to: at('cluster IP', three), family }) as const),
    )
    for (let n = 0; load.connections < 400 && n < 100; n++) {
      const guests: readonly PodName[] = others.slice(0, n % 3)
      await rig.program([{ ...three, endpoints: [first, second, ...guests] }])
    }
    await load.stop()
    expect(load.failures).toEqual([])
    const shares = [first, second].map((pod) => load.answers.get(pod) ?? 0)
    expect(chiSquare(shares), `shares of two endpoints: ${shares.join(' and ')}`).toBeLessThan(24)
  })
})

function endpointsOf(service: ServiceFixture, port: PortFixture): readonly string[] {
  return pods
    .filter((pod) => service.endpoints.includes(pod))
    .flatMap((pod) => targetsOf(service, port).map((target) => `${pod}:${target}`))
    .sort()
}
