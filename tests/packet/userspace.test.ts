/** What a row cannot show of the userspace mode: changes, restarts, damage, and the ports that it holds. */
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { portalChains } from '../../src/backends/userspace/portals/chains.ts'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import type { PodName } from './testing/address-plan.ts'
import { ask, openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { startFairlead } from './testing/fairlead.ts'
import { fairleadUserspace, startUserspace } from './testing/fairlead-userspace.ts'
import { families as iptablesNames } from './testing/iptables-variant.ts'
import { Load } from './testing/load.ts'
import type { Namespace } from './testing/namespace.ts'
import { flowFaults } from './testing/observe.ts'
import type { Flow } from './testing/observe.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, refused, untouched } from './testing/row.ts'
import type { Expectation, Source, Target } from './testing/row.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { givenService, nodePortOf, webPort } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'
import { whoAnswers } from './testing/tally.ts'
import { UdpTalker } from './testing/udp-talker.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1', 'there-1'] })
const dns = givenService('dns', 2, { ports: [udpPort], endpoints: ['here-1'] })
const other = givenService('other', 3, { endpoints: ['here-2'] })
const sticky = givenService('sticky', 4, { affinitySeconds: 10_800, endpoints: ['here-1', 'here-2', 'there-1'] })
const services = [web, dns, other, sticky]

for (const variant of ['nft', 'legacy'] as const)
  describeUnless(packetTestProblem(fairleadUserspace(variant)), `userspace (${variant})`, () => {
    let rig: Rig
    beforeAll(async () => {
      rig = await Rig.startWith((cluster) => startUserspace(cluster, variant, {}), services)
    })
    afterAll(() => rig?.[Symbol.asyncDispose]())

    /** What is wrong with the flow, in both families; nothing, hopefully. */
    const faults = (from: Source, to: Target, expectation: Expectation): Promise<readonly string[]> =>
      flowFaults(
        rig,
        families.map((family) => ({ from, to, family, expectation })),
      )
    const expectServed = async () => expect(await serviceFaults(rig, web)).toEqual([])

    test('while endpoints come and go, no connection fails and open ones go on', async () => {
      await rig.program([{ ...web, endpoints: ['here-1'] }, dns, other])
      const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
      using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), echo))
      await using load = new Load(rig, [
        ...flowsTo(web),
        { from: 'caller', to: at('cluster IP', other), family: 'ipv4' },
      ])
      const histories: readonly (readonly PodName[])[] = [
        ['here-1', 'here-3', 'there-1'],
        ['here-1', 'there-2'],
        ['there-1', 'there-2', 'here-4'],
        ['here-4'],
        ['here-1'],
      ]
      for (const endpoints of histories) {
        await rig.program([{ ...web, endpoints }, dns, other])
        await conversation.goesOn()
      }
      await expect.poll(() => load.connections, untilHeard).toBeGreaterThan(20)
      await load.stop()
      expect(load.failures).toEqual([])
    })

    test('a Service that loses its endpoints refuses, and comes back with them', async () => {
      await rig.program([{ ...web, endpoints: [] }, dns, other])
      for (const { from, to } of flowsTo(web)) expect(await faults(from, to, refused)).toEqual([])
      await rig.program(services)
      await expectServed()
    })

    test('a node port is held while the Service has it, and free afterwards', async () => {
      await rig.program(services)
      await expect(listenOn(rig.cluster.node, nodePortOf(web))).rejects.toMatchObject({ code: 'EADDRINUSE' })
      await rig.program([dns, other])
      await expect(listenOn(rig.cluster.node, nodePortOf(web))).resolves.toBeUndefined()
      expect(await faults('outside', at('node port', web), refused)).toEqual([])
      expect(await faults('caller', at('cluster IP', web), untouched)).toEqual([])
    })

    test('a client with affinity stays with its endpoint, and the clients are spread', async () => {
      await rig.program([sticky])
      const chosen = new Set<string>()
      for (const from of ['caller', 'outside', 'blocked', 'here-3', 'here-4', 'node'] as const)
        for (const family of families) {
          // On a machine that is too busy an endpoint may seem dead, and its clients move: then once more.
          const pods = await vi.waitFor(async () => {
            const answers = new Set<string>()
            for (let n = 0; n < 5; n++) answers.add(await whoAnswers(rig, from, at('cluster IP', sticky), family))
            expect(answers.size, `${from} met ${[...answers].join(' and ')}`).toBe(1)
            return answers
          }, patience)
          for (const pod of pods) chosen.add(pod)
        }
      expect(chosen.size).toBeGreaterThan(1)
    })

    test('who connects to a proxy port directly is refused, inside and outside', async () => {
      await rig.program([dns, other])
      const [port] = proxyPortsOf(rig.cluster.node, 'shop/other:http')
      const { nodeIP: ip } = plans.ipv4
      for (const host of [rig.cluster.host('outside'), rig.cluster.host('caller'), rig.cluster.node]) {
        const outcome = await ask(host, { transport: 'tcp', ip, port: port ?? 0, patienceMs: 5_000 })
        expect(outcome).toEqual({ kind: 'refused' })
      }
    })

    test('a UDP client that keeps its port moves to the endpoint that is left', async () => {
      await rig.program([dns])
      for (const family of families) {
        using talker = new UdpTalker(rig.cluster.host('caller'), plans[family].clusterIP(dns.index), udpPort.port)
        await expect.poll(() => talker.ask(), untilHeard).toBe('here-1')
        await rig.program([{ ...dns, endpoints: ['there-1'] }])
        await expect.poll(() => talker.ask(), untilHeard).toBe('there-1')
        await rig.program([dns])
      }
    })

    test('it may be killed: the next process puts its own ports in place, for UDP clients that keep theirs too', async () => {
      await rig.program(services)
      const talkers = families.map(
        (family) => new UdpTalker(rig.cluster.host('caller'), plans[family].clusterIP(dns.index), udpPort.port),
      )
      for (const talker of talkers) await expect.poll(() => talker.ask(), untilHeard).toBe('here-1')
      await rig.proxy.stop('SIGKILL')
      expect(await faults('caller', at('cluster IP', web), refused)).toEqual([])
      rig.proxy.run()
      await rig.program(services)
      await expectServed()
      for (const talker of talkers) {
        await expect.poll(() => talker.ask(), untilHeard).toBe('here-1')
        talker[Symbol.dispose]()
      }
    })

    test('it takes its rules with it when it is told to end, and comes back', async () => {
      await rig.program(services)
      await rig.proxy.stop('SIGTERM')
      for (const name of iptablesNames)
        expect(portalsIn(rig.cluster.node.run(`${name}-${variant}-save`, []))).toEqual([])
      rig.proxy.run()
      await rig.program(services)
      await expectServed()
    })

    test.each([
      // Each repair doubles the pause before the next look, so they are few.
      ['an emptied chain', ['-t', 'nat', '-F', portalChains.portalsContainer]],
      ['a table that somebody emptied', ['-t', 'nat', '-F']],
      ['a chain of jumps that somebody emptied', ['-F', 'INPUT']],
    ])('%s is repaired', async (_, damage) => {
      await rig.program(services)
      const { node } = rig.cluster
      const held = () => iptablesNames.map((name) => portalsIn(node.run(`${name}-${variant}-save`, [])).sort())
      const before = held()
      for (const name of iptablesNames) node.run(`${name}-${variant}`, damage)
      await vi.waitFor(() => expect(held()).toEqual(before), patience)
      await expectServed()
    })

    test('clients of a node port get through a firewall that drops the rest', async () => {
      await using guarded = await Rig.startWith((cluster) => startUserspace(cluster, variant, {}), [web, other])
      for (const name of iptablesNames) {
        const run = (...args: readonly string[]) => guarded.cluster.node.run(`${name}-${variant}`, args)
        run('-A', 'INPUT', '-i', 'lo', '-j', 'ACCEPT')
        run('-A', 'INPUT', '-m', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', '-j', 'ACCEPT')
        run('-A', 'INPUT', '-p', name === 'iptables' ? 'icmp' : 'icmpv6', '-j', 'ACCEPT')
        run('-P', 'INPUT', 'DROP')
      }
      for (const family of families) {
        expect(['here-1', 'there-1']).toContain(
          await podFor(guarded, { from: 'outside', to: at('node port', web), family }),
        )
        const elsewhere = await guarded.ask('outside', at('cluster IP', other), family, 1_500)
        expect(elsewhere.kind).toBe('silence')
      }
    })

    test('a node may change its mode and change back', async () => {
      await rig.program(services)
      await rig.proxy.stop('SIGKILL')
      const { cluster } = rig
      const chains = () => iptablesNames.flatMap((name) => portalsIn(cluster.node.run(`${name}-${variant}-save`, [])))
      expect(chains()).not.toEqual([])
      {
        await using fairlead = await startFairlead(cluster, { variant })
        const inIptablesMode = new Rig(cluster, fairlead)
        await inIptablesMode.program(services)
        await vi.waitFor(() => expect(chains()).toEqual([]), patience)
        for (const flow of flowsTo(web)) expect(['here-1', 'there-1']).toContain(await podFor(inIptablesMode, flow))
        await fairlead.stop('SIGTERM')
      }
      rig.proxy.run()
      await rig.program(services)
      const save = () => iptablesNames.map((name) => cluster.node.run(`${name}-${variant}-save`, [])).join('')
      await vi.waitFor(() => expect(save()).not.toContain('KUBE-SVC-'), patience)
      await expectServed()
    })
  })

const untilHeard = { timeout: 20_000, interval: 50 }
const patience = { timeout: 40_000, interval: 100 }

async function podFor(rig: Rig, { from, to, family }: Omit<Flow, 'expectation'>): Promise<string> {
  const [pod = ''] = (await whoAnswers(rig, from, to, family)).split(':')
  return pod
}

/** Chains of the portals, and rules in them and to them. */
function portalsIn(saved: string): string[] {
  const names: readonly string[] = Object.values(portalChains)
  return saved
    .split('\n')
    .filter((line) => names.some((name) => line.includes(name)))
    .map((line) => line.replace(/ \[\d+:\d+\]$/, ''))
}

function proxyPortsOf(node: Namespace, service: string): readonly number[] {
  const lines = ['nft', 'legacy'].flatMap((variant) => node.run(`iptables-${variant}-save`, ['-t', 'nat']).split('\n'))
  const ours = lines.filter((line) => line.includes(`"${service}"`) && line.includes('--to-destination'))
  return ours.map((line) => Number(/:(\d+)$/.exec(line)?.[1]))
}

function listenOn(node: Namespace, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = node.enter(() => createServer().listen({ port, exclusive: true }))
    server.once('error', reject)
    server.once('listening', () => server.close(() => resolve()))
  })
}
