/** The userspace mode where pods see the client's own address: more than the rows say, and what it leaves. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { portalChains } from '../../src/backends/userspace/portals/chains.ts'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { ask, openTcp } from './testing/ask.ts'
import { BridgedPods } from './testing/bridge.ts'
import { podPorts } from './testing/cluster.ts'
import type { Cluster } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { cleanUp } from './testing/fairlead.ts'
import { fairleadUserspace, startUserspace } from './testing/fairlead-userspace.ts'
import { families as iptablesNames } from './testing/iptables-variant.ts'
import type { IptablesVariant } from './testing/iptables-variant.ts'
import type { Namespace } from './testing/namespace.ts'
import { compareFlow, flowFaults } from './testing/observe.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, reaches } from './testing/row.ts'
import type { Expectation, Source, Target } from './testing/row.ts'
import { clusterObjects, givenService, objectsOf, webPort } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'

const annotations = { 'fairlead.dev/client-address': 'transparent' }
const off = { 'fairlead.dev/client-address': 'node' }
const here = givenService('here', 1, { type: 'NodePort', endpoints: ['here-1', 'here-2'], annotations })
const both = givenService('both', 2, { type: 'NodePort', endpoints: ['here-1', 'there-1'], annotations })
const plain = givenService('plain', 3, { type: 'NodePort', endpoints: ['here-1'], annotations: off })
const usual = givenService('usual', 6, { endpoints: ['here-1', 'there-1'] })
const services = [here, both, plain, usual]

for (const variant of ['nft', 'legacy'] as const)
  describeUnless(packetTestProblem(fairleadUserspace(variant)), `transparent connections (${variant})`, () => {
    let rig: Rig
    beforeAll(async () => {
      rig = await Rig.startWith((cluster) => startUserspace(cluster, variant, {}), services)
    })
    afterAll(() => rig?.[Symbol.asyncDispose]())

    /** What is wrong with the flow, in both families. On a busy machine a pod may seem dead for a while: ask again. */
    const faults = (from: Source, to: Target, expectation: Expectation): Promise<readonly string[]> =>
      flowFaults(
        rig,
        families.map((family) => ({ from, to, family, expectation })),
      )

    test.each([
      ['a pod that uses the cluster IP', 'caller', at('cluster IP', here)],
      ['a client outside that uses a node port', 'outside', at('node port', here)],
      ['a pod that uses a node port', 'caller', at('node port', here)],
    ] as const)('pods of this node see %s', async (_, from, to) => {
      await expect.poll(() => faults(from, to, reaches(['here-1', 'here-2'], 'client')), patience).toEqual([])
    })

    test('pods of another node see the node, not a client outside, to whom they would answer directly', async () => {
      const expectation: Expectation = {
        kind: 'reaches',
        each: [
          { pod: 'here-1', seenAs: 'client' },
          { pod: 'there-1', seenAs: 'node' },
        ],
      }
      await expect.poll(() => faults('outside', at('node port', both), expectation), patience).toEqual([])
    })

    test('pods of another node see a pod of this one', async () => {
      const seen = reaches(['here-1', 'there-1'], 'client')
      await expect.poll(() => faults('caller', at('node port', both), seen), patience).toEqual([])
      await expect.poll(() => faults('caller', at('cluster IP', usual), seen), patience).toEqual([])
    })

    test('a Service that does not want it has none of it', async () => {
      const fromNode = reaches(['here-1'], 'node')
      await expect.poll(() => faults('outside', at('node port', plain), fromNode), patience).toEqual([])
      await expect.poll(() => faults('caller', at('cluster IP', plain), fromNode), patience).toEqual([])
    })

    test('the node is served from its own address, also when it uses localhost', async () => {
      const fromNode = reaches(['here-1', 'here-2'], 'node')
      await expect.poll(() => faults('node', at('cluster IP', here), fromNode), patience).toEqual([])
      await expect.poll(() => faults('localhost', at('node port on localhost', here), fromNode), patience).toEqual([])
    })

    test('a pod that is its own client sees the node', async () => {
      const expectation: Expectation = {
        kind: 'reaches',
        each: [
          { pod: 'here-1', seenAs: 'node' },
          { pod: 'here-2', seenAs: 'client' },
        ],
      }
      await expect.poll(() => faults('here-1', at('cluster IP', here), expectation), patience).toEqual([])
    })

    test.each([
      ['', 0],
      [', and looks for it with the mark of the answer, as with WireGuard', 1],
    ])('it works where the kernel is strict about the device that a source comes from%s', async (_, asksWithMark) => {
      const { node } = rig.cluster
      node.setSysctl('ipv4.conf.all.rp_filter', 1)
      node.setSysctl('ipv4.conf.all.src_valid_mark', asksWithMark)
      const toClient = reaches(['here-1', 'here-2'], 'client')
      await expect.poll(() => faults('outside', at('node port', here), toClient), patience).toEqual([])
      await expect.poll(() => faults('caller', at('cluster IP', here), toClient), patience).toEqual([])
      const everywhere = reaches(['here-1', 'there-1'], 'client')
      await expect.poll(() => faults('caller', at('cluster IP', usual), everywhere), patience).toEqual([])
      node.setSysctl('ipv4.conf.all.src_valid_mark', 0)
      node.setSysctl('ipv4.conf.all.rp_filter', 0)
    })

    test('it works where the network masquerades pods on their way out', async () => {
      const rules = families.map((family) => {
        const { hosts } = plans[family]
        const rule = `POSTROUTING -s ${hosts.caller} -d ${hosts['there-1']} -j MASQUERADE`
        return { tool: `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant}`, rule: rule.split(' ') }
      })
      const change = (how: '-A' | '-D') => {
        for (const { tool, rule } of rules) rig.cluster.node.run(tool, ['-t', 'nat', how, ...rule])
      }
      change('-A')
      const seen: Expectation = {
        kind: 'reaches',
        each: [
          { pod: 'here-1', seenAs: 'client' },
          { pod: 'there-1', seenAs: 'node' },
        ],
      }
      await expect.poll(() => faults('caller', at('cluster IP', usual), seen), patience).toEqual([])
      change('-D')
    })

    test.each([
      ['an emptied table', ['-t', 'mangle', '-F']],
      ['a jump that somebody deleted', ['-t', 'mangle', '-D', 'PREROUTING', '1']],
    ])('%s is repaired', async (_, damage) => {
      for (const name of iptablesNames) rig.cluster.node.run(`${name}-${variant}`, damage)
      const isRepaired = () => iptablesNames.every((name) => answerRulesIn(rig.cluster.node, name, variant) === 2)
      await expect.poll(isRepaired, patience).toBe(true)
      await expect
        .poll(() => faults('caller', at('cluster IP', here), reaches(['here-1', 'here-2'], 'client')), patience)
        .toEqual([])
    })

    test('a rule before ours that accepts answers breaks nothing, and pods see the node when it comes again', async () => {
      const accept = 'PREROUTING -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT'.split(' ')
      const change = (how: '-I' | '-D') => {
        for (const name of iptablesNames) rig.cluster.node.run(`${name}-${variant}`, ['-t', 'mangle', how, ...accept])
      }
      change('-I')
      const seenAs = (seen: 'client' | 'node') =>
        faults('caller', at('cluster IP', usual), reaches(['here-1', 'there-1'], seen))
      await expect.poll(() => rig.proxy.log(), patience).toContain('ours is put first again')
      await expect.poll(() => seenAs('client'), patience).toEqual([])
      change('-D')
      change('-I')
      await expect.poll(() => seenAs('node'), patience).toEqual([])
      expect(rig.proxy.log()).toContain('another program keeps a rule before ours')
      change('-D')
      await rig.proxy.stop('SIGTERM')
      rig.proxy.run()
      await rig.program(services)
      await expect.poll(() => seenAs('client'), patience).toEqual([])
    })

    test('a Service that wants it no more keeps its open connections, and the rules go after them', async () => {
      const echo: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
      const talking = givenService('talking', 4, { ports: [echo], endpoints: ['here-1'], annotations })
      await rig.program([talking])
      const caller = rig.cluster.host('caller')
      for (const family of families) {
        const conversation = await Conversation.start(
          openTcp(caller, { ip: plans[family].clusterIP(talking.index), port: echo.port }),
        )
        await rig.program([{ ...talking, annotations: off }])
        await conversation.goesOn()
        conversation[Symbol.dispose]()
        await rig.program([talking])
      }
      expect(leftIn(rig.cluster.node, variant)).not.toEqual([])
      await expect
        .poll(async () => {
          await rig.program([{ ...talking, annotations: off }])
          return leftIn(rig.cluster.node, variant)
        }, patience)
        .toEqual([])
    })

    test('behind a bridge, clients elsewhere are seen, and pods of the same bridge are served all the same', async () => {
      using bridge = new BridgedPods(rig.cluster)
      const service = givenService('bridged', 5, { type: 'NodePort', annotations })
      await rig.proxy.apply([...clusterObjects, ...objectsOf(service), ...bridge.slicesOf(service)])
      for (const family of families) {
        const sawSource = async (client: Namespace) => {
          const address = { ip: plans[family].clusterIP(service.index), port: webPort.port }
          const outcome = await ask(client, { transport: 'tcp', ...address, patienceMs: 1_000 })
          return outcome.kind === 'answer' ? outcome.answer.sawSource : outcome.kind
        }
        for (const client of ['outside', 'caller'] as const)
          await expect.poll(() => sawSource(rig.cluster.host(client)), patience).toBe(plans[family].hosts[client])
        const [server, neighbour] = bridge.namespaces
        for (const client of [neighbour, server])
          await expect.poll(() => sawSource(client), patience).toBe(bridge.gateway(family))
      }
    })

    test('it takes its rules and its routing with it when it is told to end', async () => {
      await rig.program(services)
      expect(leftIn(rig.cluster.node, variant)).not.toEqual([])
      await rig.proxy.stop('SIGTERM')
      expect(leftIn(rig.cluster.node, variant)).toEqual([])
    })

    test('a clean-up removes what a process that was killed left', async () => {
      rig.proxy.run()
      await rig.program(services)
      await rig.proxy.stop('SIGKILL')
      expect(leftIn(rig.cluster.node, variant)).toHaveLength(
        families.length * ['chain', 'jump', 'rule', 'passes by', 'delivers', 'goes on', 'route'].length,
      )
      cleanUp(rig.cluster)
      expect(leftIn(rig.cluster.node, variant)).toEqual([])
    })

    test('where the operator wants the node to be seen, it is, also by Services that want the client', async () => {
      const asNode = (cluster: Cluster) => startUserspace(cluster, variant, {}, ['--userspace-client-address=node'])
      await using nodeRig = await Rig.startWith(asNode, [here, usual])
      for (const family of families)
        for (const [service, pods] of [
          [here, ['here-1', 'here-2']],
          [usual, ['here-1', 'there-1']],
        ] as const) {
          const flow = { from: 'caller', to: at('cluster IP', service), expectation: reaches(pods, 'node') } as const
          const { observed, expected } = await compareFlow(nodeRig, { ...flow, family })
          expect(observed).toBe(expected)
        }
      expect(leftIn(nodeRig.cluster.node, variant)).toEqual([])
    })

    test('the engine of Node.js serves from the address of the node, and the log says why', async () => {
      const onNode = (cluster: Cluster) => startUserspace(cluster, variant, {}, ['--userspace-engine=node'])
      const local = givenService('local', 7, {
        type: 'NodePort',
        externalTrafficPolicy: 'Local',
        endpoints: ['here-1'],
      })
      await using nodeRig = await Rig.startWith(onNode, [here, usual, local])
      const flows = [
        { from: 'outside', to: at('node port', here), expectation: reaches(['here-1', 'here-2'], 'node') },
        { from: 'outside', to: at('node port', local), expectation: reaches(['here-1'], 'node') },
        { from: 'caller', to: at('cluster IP', usual), expectation: reaches(['here-1', 'there-1'], 'node') },
      ] as const
      for (const family of families)
        for (const flow of flows) {
          const { observed, expected } = await compareFlow(nodeRig, { ...flow, family })
          expect(observed).toBe(expected)
        }
      expect(nodeRig.proxy.log()).toContain('only the native engine')
      expect(leftIn(nodeRig.cluster.node, variant)).toEqual([])
    })
  })

const patience = { timeout: 40_000, interval: 100 }

/** The jump, and what it leads to. */
function answerRulesIn(node: Namespace, name: string, variant: IptablesVariant): number {
  const lines = node.run(`${name}-${variant}-save`, ['-t', 'mangle']).split('\n')
  return lines.filter((line) => line.startsWith('-A') && line.includes(portalChains.answers)).length
}

/** All that only transparent connections need: chains, rules, routing rules and routes. */
function leftIn(node: Namespace, variant: IptablesVariant): readonly string[] {
  const rules = iptablesNames.flatMap((name) => node.run(`${name}-${variant}-save`, []).split('\n'))
  const routing = ['-4', '-6'].flatMap((family) =>
    ['rule', 'route show table all'].flatMap((words) => node.run('ip', [family, ...words.split(' ')]).split('\n')),
  )
  return [
    ...rules.filter((line) => line.includes(portalChains.answers)),
    ...routing.filter((line) => /4096|0x1000/.test(line)),
  ]
}
