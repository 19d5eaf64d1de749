/** What happens to connections while endpoints, and Fairlead itself, come and go; who answers ARP; what is left at the end. */
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ListedServer } from '../../../src/dataplane/ipvs/ipvs.ts'
import { families } from '../../../src/net/ip.ts'
import { plans } from '../../packet/testing/address-plan.ts'
import { openTcp } from '../../packet/testing/ask.ts'
import { podPorts } from '../../packet/testing/cluster.ts'
import { Conversation } from '../../packet/testing/conversation.ts'
import { Load } from '../../packet/testing/load.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { at } from '../../packet/testing/row.ts'
import { givenService, webPort } from '../../packet/testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from '../../packet/testing/service-fixture.ts'
import { flowsTo } from '../../packet/testing/service-faults.ts'
import { whoAnswers } from '../../packet/testing/tally.ts'
import { UdpTalker } from '../../packet/testing/udp-talker.ts'
import { endsByItself, processOf, takesOver, watchWrites } from '../../packet/testing/upgrade.ts'
import { askByArp } from './testing/arp.ts'
import { startFairleadIpvs } from './testing/ipvs-proxies.ts'
import { connectionsSoFar, virtualServers, weightsOf } from './testing/kernel-state.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1'] })
const dns = givenService('dns', 2, { ports: [udpPort], endpoints: ['here-1'] })
const sticky = givenService('sticky', 3, { affinitySeconds: 10_800, endpoints: ['here-1', 'here-2', 'there-1'] })
const leaving = givenService('leaving', 4, { ports: [echoPort], endpoints: ['here-1'] })
const services = [web, dns, sticky, leaving]

const ip = plans.ipv4.clusterIP(web.index)
const soon = { timeout: 60_000, interval: 100 }

let rig: Rig
beforeAll(async () => {
  rig = await Rig.startWith((cluster) => startFairleadIpvs(cluster, {}), services)
})
afterAll(() => rig?.[Symbol.asyncDispose]())

test('an endpoint that leaves keeps its connections, and gets no new one', async () => {
  using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), { ip, port: echoPort.port }))
  await conversation.goesOn()
  await program({ ...web, endpoints: ['here-2'] })
  await expect.poll(() => weights(web), soon).toEqual({ 'here-1': 0, 'here-2': 1 })
  await conversation.goesOn()
  const answers = new Set<string>()
  for (let n = 0; n < 6; n++) answers.add(await whoAnswers(rig, 'caller', at('cluster IP', web), 'ipv4'))
  expect(answers).toEqual(new Set(['here-2:8080']))
})

test('an endpoint that comes back while it drains gets connections again', async () => {
  await program({ ...web, endpoints: ['here-1', 'here-2'] })
  await expect.poll(() => weights(web), soon).toEqual({ 'here-1': 1, 'here-2': 1 })
})

test('an endpoint that has lost its last connection is forgotten within a minute', async () => {
  const to = { ip: plans.ipv4.clusterIP(leaving.index), port: echoPort.port }
  const socket = openTcp(rig.cluster.host('caller'), to)
  await once(socket, 'connect')
  await program({ ...leaving, endpoints: ['here-2'] })
  await expect.poll(() => weights(leaving), soon).toEqual({ 'here-1': 0, 'here-2': 1 })
  // The kernel remembers a connection that was reset for ten seconds only.
  socket.resetAndDestroy()
  await expect.poll(() => weights(leaving), { timeout: 180_000, interval: 2000 }).toEqual({ 'here-2': 1 })
})

test('a UDP client moves at once to the endpoint that is left', async () => {
  using talker = new UdpTalker(rig.cluster.host('caller'), plans.ipv4.clusterIP(dns.index), udpPort.port)
  expect(await talker.ask()).toBe('here-1')
  await program({ ...dns, endpoints: ['there-1'] })
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
  await program({ ...web, endpoints: ['here-1', 'there-1'] })
  using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), { ip, port: echoPort.port }))
  const before = lasting()
  await using load = new Load(rig, [
    { from: 'caller', to: at('cluster IP', web), family: 'ipv4' },
    { from: 'outside', to: at('node port', web), family: 'ipv6' },
  ])
  await rig.proxy.stop('SIGKILL')
  await conversation.goesOn()
  rig.proxy.run()
  await program({ ...web, endpoints: ['here-1', 'there-1'] })
  await conversation.goesOn()
  await load.stop()
  expect(load.failures).toEqual([])
  expect(load.connections).toBeGreaterThan(10)
  expect(lasting()).toEqual(before)
})

test('a new Fairlead takes over: no connection fails, and nothing is written', async () => {
  using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), { ip, port: echoPort.port }))
  // With a pause, which leaves some of the guest's one processor to the proxies.
  await using load = new Load(rig, flowsTo(web), 20)
  await expect.poll(() => load.connections, soon).toBeGreaterThan(20)
  const had = connectionsSoFar(rig.cluster)
  expect(had.size).toBeGreaterThan(4)
  await using writes = await watchWrites(rig.cluster, 'legacy')
  const first = processOf(rig)
  await using second = first.second(['--take-over'])
  await takesOver(first, second)
  await endsByItself(first)
  const answered = load.connections
  await expect.poll(() => load.connections, soon).toBeGreaterThan(answered + 20)
  await conversation.goesOn()
  expect(writes.seen()).toEqual([])
  const has = connectionsSoFar(rig.cluster)
  expect([...had].filter(([server, count]) => (has.get(server) ?? 0) < count)).toEqual([])
  // Back again, as a restart does it.
  await second.stop('SIGTERM')
  first.run()
  await program({ ...web, endpoints: ['here-1', 'there-1'] })
  await conversation.goesOn()
  await load.stop()
  expect(load.failures).toEqual([])
})

test('neighbours get an answer for the address of a Service, and with strictARP they do not', async () => {
  const { node } = rig.cluster
  const neighbour = rig.cluster.host('outside')
  const ownAddress = '198.18.1.1'
  node.ip(`address add ${ownAddress}/32 dev outside`)
  const asked = () => askByArp(neighbour, 'eth0', [ip, ownAddress])
  expect(await asked()).toEqual(['answered', 'answered'])
  // One at a time: the kernel keeps what the first one has written.
  await rig.proxy.stop('SIGTERM')
  const flags = ['--init-only', '--proxy-mode=ipvs', '--ipvs-strict-arp', '--hostname-override=node1']
  const machine = ['--conntrack-max-per-core=0', '--conntrack-tcp-timeout-established=0s', '--oom-score-adj=0']
  const objects = ['--objects=tests/goldens', '--conntrack-tcp-timeout-close-wait=0s']
  const args = ['bin/fairlead.js', ...flags, ...machine, ...objects]
  expect((await once(node.start(process.execPath, args, process.env), 'exit'))[0]).toBe(0)
  expect(await asked()).toEqual(['silence', 'answered'])
  node.ip(`address del ${ownAddress}/32 dev outside`)
  rig.proxy.run()
  await program(web)
})

test('a clean-up leaves nothing behind', async () => {
  // A server that is not wanted any more goes last; what is left is one beacon of each family.
  const beacons = () => virtualServers(rig.cluster).filter(isBeacon).length
  await expect.poll(beacons, { timeout: 120_000, interval: 500 }).toBe(2)
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

/** Replaces a Service by what it has become; the others are as in the beginning. */
async function program(changed: ServiceFixture): Promise<void> {
  await rig.program(services.map((service) => (service.name === changed.name ? changed : service)))
}

/** Those of the real servers behind the echo port. */
function weights({ index }: ServiceFixture): Readonly<Record<string, number>> {
  return weightsOf(rig.cluster, plans.ipv4.clusterIP(index), echoPort.port)
}

/** The servers of our Services and where they lead: without the beacons of the rig, and without what drains. */
function lasting(): readonly string[] {
  const servers = virtualServers(rig.cluster).filter((server) => !isBeacon(server))
  return servers.map(describe).toSorted()
}

const isBeacon = ({ ip: address }: ListedServer) => beaconIps.has(address)

const beaconIps: ReadonlySet<string> = new Set(
  Array.from({ length: 50 }, (_, n) => families.map((family) => plans[family].clusterIP(201 + n))).flat(),
)

function describe({ ip: address, port, protocol, scheduler, realServers }: ListedServer): string {
  const real = realServers.filter(({ weight }) => weight > 0).map((one) => `${one.ip}:${one.port}`)
  return `${address}:${port} ${protocol} ${scheduler} → ${real.toSorted().join(', ')}`
}
