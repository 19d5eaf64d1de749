import { expect, test, vi } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { orphanedChains } from './testing/chains.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { startFairlead } from './testing/fairlead.ts'
import { kubeProxyIptables, startKubeProxy } from './testing/kube-proxy.ts'
import { Load } from './testing/load.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'

const echoPort = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo } as const
const web = givenService('web', 1, {
  type: 'LoadBalancer',
  ports: [webPort, echoPort],
  endpoints: ['here-1', 'there-1', 'there-2'],
})
const local = givenService('local', 2, { type: 'NodePort', externalTrafficPolicy: 'Local', endpoints: ['here-2'] })
const services = [web, local]

for (const variant of ['nft', 'legacy'] as const) {
  const problem = packetTestProblem(kubeProxyIptables(variant))
  describeUnless(problem, `iptables (${variant})`, () => {
    test('Fairlead takes over from kube-proxy and hands back, and no connection fails', async () => {
      await using rig = await Rig.startWith((cluster) => startKubeProxy(cluster, {}, variant), services)
      const { cluster } = rig
      const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
      using conversation = await Conversation.start(openTcp(cluster.host('caller'), echo))
      await using load = new Load(
        rig,
        families.flatMap((family) => [
          { from: 'caller', to: at('cluster IP', web), family } as const,
          { from: 'outside', to: at('VIP', web), family } as const,
          { from: 'outside', to: at('node port', local), family } as const,
        ]),
      )
      await rig.proxy.stop('SIGTERM')
      {
        await using fairlead = await startFairlead(cluster, { variant })
        await new Rig(cluster, fairlead).program(services)
        await conversation.goesOn()
        // A restore of kube-proxy's may still have been under way.
        const noOrphans = () => expect(orphanedChains(cluster.node, variant)).toEqual([])
        await vi.waitFor(noOrphans, { timeout: 20_000, interval: 100 })
        await fairlead.stop('SIGTERM')
      }
      {
        await using kubeProxy = await startKubeProxy(cluster, {}, variant)
        await new Rig(cluster, kubeProxy).program(services)
        await conversation.goesOn()
      }
      await load.stop()
      expect(load.failures).toEqual([])
      expect(load.connections).toBeGreaterThan(20)
    })
  })
}
