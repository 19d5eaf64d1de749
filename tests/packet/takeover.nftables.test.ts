import { expect, test } from 'vitest'
import { plans } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import type { Cluster } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { cleanUp, startFairleadNftables } from './testing/fairlead.ts'
import { kubeProxyIptables, kubeProxyNftables, startKubeProxy, startKubeProxyNftables } from './testing/kube-proxy.ts'
import { Load } from './testing/load.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import type { RunningProxy } from './testing/proxy.ts'
import { Rig } from './testing/rig.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'

const echoPort = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo } as const
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1', 'there-1'] })
/** With each owner another endpoint, which shows whose rules are at work. */
const others = ['here-2', 'there-2', 'here-3', 'here-4'] as const

interface Stage {
  readonly name: string
  start(cluster: Cluster): Promise<RunningProxy>
  /** What an operator does once it has taken over. */
  afterwards(cluster: Cluster): void
}

const fairlead: Stage = {
  name: 'Fairlead',
  start: (cluster) => startFairleadNftables(cluster, {}),
  afterwards: () => {},
}

/** `fairlead --cleanup` would take the new owner's rules too. */
function deleteOurTables({ node }: Cluster): void {
  node.run('nft', ['-f', '-'], { input: 'delete table ip fairlead\ndelete table ip6 fairlead\n' })
}

const stagesByVariant = (variant: 'nft' | 'legacy'): readonly Stage[] => [
  fairlead,
  { name: 'kube-proxy nftables', start: (cluster) => startKubeProxyNftables(cluster, {}), afterwards: deleteOurTables },
  fairlead,
  {
    name: 'kube-proxy iptables',
    start: (cluster) => startKubeProxy(cluster, {}, variant),
    afterwards: deleteOurTables,
  },
]

for (const variant of ['nft', 'legacy'] as const)
  describeUnless(packetTestProblem(kubeProxyIptables(variant)), `nftables, and kube-proxy with ${variant}`, () => {
    test('Fairlead takes over from kube-proxy in either mode and hands back, and no connection fails', async () => {
      await using rig = await Rig.startWith((cluster) => startKubeProxy(cluster, {}, variant), [web])
      const { cluster } = rig
      const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
      using conversation = await Conversation.start(openTcp(cluster.host('caller'), echo))
      await using load = new Load(rig, flowsTo(web))
      await rig.proxy.stop('SIGTERM')
      for (const [number, stage] of stagesByVariant(variant).entries()) {
        await using proxy = await stage.start(cluster)
        const wanted: ServiceFixture = { ...web, endpoints: [...web.endpoints, others[number] ?? 'here-1'] }
        const owner = new Rig(cluster, proxy)
        await owner.program([web])
        stage.afterwards(cluster)
        await owner.program([wanted])
        await expect.poll(() => serviceFaults(owner, wanted), { timeout: 40_000, interval: 100 }).toEqual([])
        await conversation.goesOn()
        expect(load.failures, `after ${stage.name}`).toEqual([])
        await owner.program([web])
        await proxy.stop('SIGTERM')
      }
      await load.stop()
      expect(load.failures).toEqual([])
    })
  })

describeUnless(packetTestProblem(kubeProxyNftables), 'nftables', () => {
  test('a clean-up leaves nothing of either', async () => {
    await using rig = await Rig.startWith((cluster) => startKubeProxyNftables(cluster, {}), [web])
    const { cluster } = rig
    await rig.proxy.stop('SIGTERM')
    await using fairlead = await startFairleadNftables(cluster, {})
    await new Rig(cluster, fairlead).program([web])
    await fairlead.stop('SIGTERM')
    expect(cluster.node.run('nft', ['list', 'tables'])).toContain('table ip fairlead')
    cleanUp(cluster)
    expect(cluster.node.run('nft', ['list', 'tables'])).not.toMatch(/fairlead|kube-proxy/)
  })
})
