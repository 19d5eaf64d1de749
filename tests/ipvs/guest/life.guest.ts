/** What happens to connections while endpoints, and Fairlead itself, come and go; and what is left at the end. */
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plans } from '../../packet/testing/address-plan.ts'
import { openTcp } from '../../packet/testing/ask.ts'
import { podPorts } from '../../packet/testing/cluster.ts'
import { Conversation } from '../../packet/testing/conversation.ts'
import { Load } from '../../packet/testing/load.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { at } from '../../packet/testing/row.ts'
import { givenService, webPort } from '../../packet/testing/service-fixture.ts'
import type { PortFixture } from '../../packet/testing/service-fixture.ts'
import { whoAnswers } from '../../packet/testing/tally.ts'
import { UdpTalker } from '../../packet/testing/udp-talker.ts'
import { startFairleadIpvs } from './testing/ipvs-proxies.ts'
import { virtualServers } from './testing/kernel-state.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1'] })
const dns = givenService('dns', 2, { ports: [udpPort], endpoints: ['here-1'] })
const sticky = givenService('sticky', 3, { affinitySeconds: 10_800, endpoints: ['here-1', 'here-2', 'there-1'] })
const services = [web, dns, sticky]

const ip = plans.ipv4.clusterIP(web.index)

let rig: Rig
beforeAll(async () => {
  rig = await Rig.startWith((cluster) => startFairleadIpvs(cluster, {}), services)
})
afterAll(() => rig?.[Symbol.asyncDispose]())

test('an endpoint that leaves keeps its connections, and gets no new one', async () => {
  using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), { ip, port: echoPort.port }))
  await conversation.goesOn()
  await rig.program([{ ...web, endpoints: ['here-2'] }, dns, sticky])
  expect(weights(echoPort)).toEqual({ 'here-1': 0, 'here-2': 1 })
  await conversation.goesOn()
  const answers = new Set<string>()
  for (let n = 0; n < 6; n++) answers.add(await whoAnswers(rig, 'caller', at('cluster IP', web), 'ipv4'))
  expect(answers).toEqual(new Set(['here-2:8080']))
})

test('an endpoint that comes back while it drains gets connections again', async () => {
  await rig.program([{ ...web, endpoints: ['here-1', 'here-2'] }, dns, sticky])
  expect(weights(echoPort)).toEqual({ 'here-1': 1, 'here-2': 1 })
})

test('a UDP client moves at once to the endpoint that is left', async () => {
  using talker = new UdpTalker(rig.cluster.host('caller'), plans.ipv4.clusterIP(dns.index), udpPort.port)
  expect(await talker.ask()).toBe('here-1')
  await rig.program([web, { ...dns, endpoints: ['there-1'] }, sticky])
  await expect.poll(() => talker.ask(), { timeout: 30_000, interval: 100 }).toBe('there-1')
})

test('a client with affinity stays with its endpoint', async () => {
  for (const from of ['caller', 'outside', 'here-3'] as const) {
    const answers = new Set<string>()
    for (let n = 0; n < 5; n++) answers.add(await whoAnswers(rig, from, at('cluster IP', sticky), 'ipv4'))
    expect(answers.size, `${from} met ${[...answers].join(' and ')}`).toBe(1)
  }
})

test('connections go on while Fairlead is away, and when it is back', async () => {
  await rig.program([{ ...web, endpoints: ['here-1', 'there-1'] }, dns, sticky])
  using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), { ip, port: echoPort.port }))
  const before = virtualServers(rig.cluster).map(describe).toSorted()
  await using load = new Load(rig, [
    { from: 'caller', to: at('cluster IP', web), family: 'ipv4' },
    { from: 'outside', to: at('node port', web), family: 'ipv6' },
  ])
  await rig.proxy.stop('SIGKILL')
  await conversation.goesOn()
  rig.proxy.run()
  await rig.program([{ ...web, endpoints: ['here-1', 'there-1'] }, dns, sticky])
  await conversation.goesOn()
  await load.stop()
  expect(load.failures).toEqual([])
  expect(load.connections).toBeGreaterThan(10)
  // The beacon of the test is another one each time.
  const after = virtualServers(rig.cluster).map(describe).toSorted()
  expect(after.filter((server) => !before.includes(server))).toHaveLength(2)
})

test('a clean-up leaves nothing behind', async () => {
  await rig.proxy.stop('SIGTERM')
  const { node } = rig.cluster
  const cleanup = node.start(process.execPath, ['bin/fairlead.js', '--cleanup'], process.env)
  expect((await once(cleanup, 'exit'))[0]).toBe(0)
  expect(virtualServers(rig.cluster)).toEqual([])
  expect(node.run('ipset', ['list', '-name'])).toBe('')
  expect(node.run('ip', ['-o', 'link'])).not.toContain('kube-ipvs0')
  for (const tool of ['iptables-legacy-save', 'ip6tables-legacy-save']) {
    const rules = node.run(tool, [])
    // kubelet's hint is not ours.
    expect(rules.replaceAll('KUBE-IPTABLES-HINT', '')).not.toContain('KUBE-')
  }
})

function weights({ port }: PortFixture): Readonly<Record<string, number>> {
  const server = virtualServers(rig.cluster).find((one) => one.ip === ip && one.port === port)
  const names = Object.entries(plans.ipv4.hosts)
  return Object.fromEntries(
    (server?.realServers ?? []).map(({ ip: real, weight }) => [
      names.find(([, address]) => address === real)?.[0] ?? real,
      weight,
    ]),
  )
}

function describe({ ip: address, port, protocol, scheduler, realServers }: ReturnType<typeof virtualServers>[number]) {
  const real = realServers.map((one) => `${one.ip}:${one.port} ${one.weight}`).toSorted()
  return `${address}:${port} ${protocol} ${scheduler} → ${real.join(', ')}`
}
