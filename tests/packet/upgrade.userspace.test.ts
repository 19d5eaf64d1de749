/** In the userspace mode the process itself carries the connections: it hands over its sockets, and keeps what is open. */
import { expect, test, vi } from 'vitest'
import { portalChains } from '../../src/backends/userspace/portals/chains.ts'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { fairleadUserspace, startUserspace } from './testing/fairlead-userspace.ts'
import { Load } from './testing/load.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { flowsTo } from './testing/service-faults.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'
import { whoAnswers } from './testing/tally.ts'
import { endsByItself, Probes, processOf, takesOver, watchWrites, whileItStarts } from './testing/upgrade.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1', 'there-1'] })
const changedWeb: ServiceFixture = { ...web, endpoints: ['here-3'] }
const local = givenService('local', 2, {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  endpoints: ['here-2', 'there-2'],
})
const dns = givenService('dns', 3, { ports: [udpPort], endpoints: ['here-1', 'there-1'] })
const services = [web, local, dns]
const flows = [
  ...flowsTo(web),
  ...families.map((family) => ({ from: 'caller', to: at('cluster IP', dns), family }) as const),
]

for (const engine of ['native', 'node'] as const) {
  const start = (rest: readonly string[] = []) =>
    Rig.startWith((cluster) => startUserspace(cluster, 'nft', {}, [`--userspace-engine=${engine}`, ...rest]), services)
  const problem = packetTestProblem(fairleadUserspace('nft'))

  describeUnless(problem, `userspace (${engine})`, () => {
    test('a new Fairlead takes over: nothing fails, no rule is written, and open connections end where they are', async () => {
      await using rig = await start()
      const { cluster } = rig
      const first = processOf(rig)
      const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
      using conversation = await Conversation.start(openTcp(cluster.host('caller'), echo))
      await using load = new Load(rig, flows)
      await using probes = new Probes(rig, local)
      await expect.poll(() => Math.min(load.connections, probes.count), whileItStarts).toBeGreaterThan(20)
      await using writes = await watchWrites(cluster, 'nft')
      await using second = first.second(['--take-over'])
      await takesOver(first, second)
      using another = await Conversation.start(openTcp(cluster.host('caller'), echo))
      // Back again, or to the next: the roles are exchanged.
      await using third = second.second(['--take-over'])
      await takesOver(second, third)
      second.signal('SIGTERM')
      const answered = load.connections
      await expect.poll(() => load.connections, whileItStarts).toBeGreaterThan(answered + 20)
      for (const open of [conversation, another]) await open.goesOn()
      expect([first.isRunning, second.isRunning], 'they have connections').toEqual([true, true])
      expect(writes.seen()).toEqual([])
      for (const open of [conversation, another]) open[Symbol.dispose]()
      await endsByItself(first)
      await endsByItself(second)
      await load.stop()
      expect(load.failures).toEqual([])
      expect([...probes.failures]).toEqual([])
      const owner = new Rig(cluster, third)
      await owner.program([changedWeb, local, dns])
      expect(await whoAnswers(owner, 'caller', at('cluster IP', web), 'ipv4')).toContain('here-3')
    })

    test('whichever is killed on the way, the other one serves', async () => {
      await using rig = await start()
      const first = processOf(rig)
      await using load = new Load(rig, flowsTo(web))
      {
        await using second = first.second(['--take-over'])
        second.run()
        await vi.waitFor(() => expect(first.log()).toContain('handing over to another proxy'), whileItStarts)
        // What it has accepted is lost with it.
        await load.stop()
        await second.stop('SIGKILL')
      }
      await vi.waitFor(() => expect(first.log()).toMatch(/this one goes on|serves in the place/), whileItStarts)
      await using third = first.second(['--take-over'])
      third.run()
      await vi.waitFor(() => expect(third.log()).toContain('taking over from the proxy'), whileItStarts)
      await first.stop('SIGKILL')
      const owner = new Rig(rig.cluster, third)
      await owner.program([changedWeb, local, dns])
      expect(load.failures).toEqual([])
    })
  })
}

describeUnless(packetTestProblem(fairleadUserspace('nft')), 'userspace and nftables', () => {
  test('a node changes its mode and back, and no connection fails', async () => {
    await using rig = await Rig.startWith((cluster) => startUserspace(cluster, 'nft', {}), services)
    const first = processOf(rig)
    const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
    using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), echo))
    await using load = new Load(rig, flows)
    await using second = first.second(['--take-over', '--proxy-mode=nftables', '--nodeport-addresses=0.0.0.0/0,::/0'])
    await takesOver(first, second)
    await conversation.goesOn()
    await using third = first.second(['--take-over'])
    await takesOver(second, third)
    const answered = load.connections
    await expect.poll(() => load.connections, whileItStarts).toBeGreaterThan(answered + 20)
    await conversation.goesOn()
    await load.stop()
    expect(load.failures).toEqual([])
  })

  test('a pod that is seen goes on talking in the old mode, which takes its routing away at the end', async () => {
    const usual = givenService('usual', 1, { ports: [echoPort], endpoints: ['here-1'] })
    await using rig = await Rig.startWith((cluster) => startUserspace(cluster, 'nft', {}), [usual])
    const first = processOf(rig)
    const talks = families.map((family) => {
      const echo = { ip: plans[family].clusterIP(usual.index), port: echoPort.port }
      return Conversation.start(openTcp(rig.cluster.host('caller'), echo))
    })
    const conversations = await Promise.all(talks)
    for (const conversation of conversations) await conversation.goesOn()
    const routing = () => ['-4', '-6'].map((family) => rig.cluster.node.run('ip', [family, 'rule']).includes('0x1000'))
    const chains = () =>
      ['iptables-nft', 'ip6tables-nft'].map((name) =>
        rig.cluster.node.run(`${name}-save`, []).includes(portalChains.answers),
      )
    await using second = first.second(['--take-over', '--proxy-mode=nftables'])
    await takesOver(first, second)
    for (const conversation of conversations) await conversation.goesOn()
    expect([...routing(), ...chains()]).toEqual([true, true, true, true])
    for (const conversation of conversations) conversation[Symbol.dispose]()
    await endsByItself(first)
    expect([...routing(), ...chains()]).toEqual([false, false, false, false])
  })
})
