import { expect, test, vi } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { families as iptablesNames } from './testing/iptables-variant.ts'
import type { IptablesVariant } from './testing/iptables-variant.ts'
import type { Namespace } from './testing/namespace.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import type { EndpointFixture, ServiceFixture } from './testing/service-fixture.ts'
import { givenService, healthPortOf } from './testing/service-fixture.ts'

const service = givenService('web', 1, { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
const openPort = 31_000

describeEach(
  allProxies.filter(({ mode }) => mode === 'iptables'),
  (proxy) => {
    test('a load balancer may ask the health check port through a firewall that drops the rest', async () => {
      await using rig = await Rig.start(proxy, {}, [service])
      for (const variant of ['nft', 'legacy'] as const)
        if (proxy.name.includes(variant)) closeInput(rig.cluster.node, variant)
      rig.cluster.listenOnNode(openPort)
      const outside = rig.cluster.host('outside')
      for (const family of families) {
        expect(await fetchFrom(outside, plans[family].nodeIP, openPort)).toBe('silence')
        const ask = () => fetchFrom(outside, plans[family].nodeIP, healthPortOf(service))
        await vi.waitFor(async () => expect(await ask()).toMatchObject({ status: 503 }), aMoment)
      }

      await rig.program([])
      for (const family of families)
        expect(await fetchFrom(outside, plans[family].nodeIP, healthPortOf(service))).toBe('silence')
    })
  },
)

describeEach([...allProxies, fairleadEbpf], (proxy) => {
  test('the health check port counts the local endpoints that are ready', async () => {
    const locals = ['here-1', 'here-2', 'here-3'] as const
    const withEndpoints = (...endpoints: readonly EndpointFixture[]): ServiceFixture => ({ ...service, endpoints })
    await using rig = await Rig.start(proxy, {}, [
      withEndpoints(...locals, { pod: 'here-4', is: 'not ready' }, 'there-1'),
    ])
    await vi.waitFor(async () => expect(await healthOf(rig)).toEqual([200, 3]), aMoment)
    const leaving = locals.map((pod) => ({ pod, is: 'serving while terminating' }) as const)
    await rig.program([withEndpoints(...leaving, 'there-1')])
    await vi.waitFor(async () => expect(await healthOf(rig)).toEqual([503, 0]), aMoment)
  })
})

/** What the server says follows the rules. */
const aMoment = { timeout: 20_000, interval: 50 }

/** The status, and the number of local endpoints. */
async function healthOf({ cluster }: Rig): Promise<readonly unknown[]> {
  const answer = await fetchFrom(cluster.host('outside'), plans.ipv4.nodeIP, healthPortOf(service))
  if (typeof answer === 'string') return [answer]
  const { localEndpoints } = JSON.parse(answer.body) as { localEndpoints: number }
  return [answer.status, localEndpoints]
}

/** Accepts what a node cannot live without, and drops the rest. */
function closeInput(node: Namespace, variant: IptablesVariant): void {
  for (const name of iptablesNames) {
    const run = (...args: readonly string[]) => node.run(`${name}-${variant}`, args)
    run('-A', 'INPUT', '-i', 'lo', '-j', 'ACCEPT')
    run('-A', 'INPUT', '-m', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', '-j', 'ACCEPT')
    run('-A', 'INPUT', '-p', name === 'iptables' ? 'icmp' : 'icmpv6', '-j', 'ACCEPT')
    run('-P', 'INPUT', 'DROP')
  }
}
