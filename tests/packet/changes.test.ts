import { afterAll, beforeAll, expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import type { PodName } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { Load } from './testing/load.ts'
import { flowFaults } from './testing/observe.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, dropped, reaches, refused, untouched } from './testing/row.ts'
import type { Expectation, Source, Target } from './testing/row.ts'
import { givenService, nodePortOf, webPort } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'
import { UdpTalker } from './testing/udp-talker.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1', 'there-1'] })
const dns = givenService('dns', 2, { type: 'LoadBalancer', ports: [udpPort], endpoints: ['here-1'] })
const other = givenService('other', 3, { endpoints: ['here-2'] })

describeEach([...allProxies, fairleadEbpf], (proxy) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.start(proxy, {}, [web, dns, other])
    rig.cluster.listenOnNode(nodePortOf(web))
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  /** What is wrong with the flow, in both families; nothing, hopefully. */
  const faults = (from: Source, to: Target, expectation: Expectation): Promise<readonly string[]> =>
    flowFaults(
      rig,
      families.map((family) => ({ from, to, family, expectation })),
    )

  test('while endpoints come and go, no connection fails and open ones go on', async () => {
    await rig.program([{ ...web, endpoints: ['here-1'] }, dns, other])
    const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
    using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), echo))
    const to = at('cluster IP', web)
    await using load = new Load(rig, [
      { from: 'caller', to, family: 'ipv4' },
      { from: 'outside', to: at('node port', web), family: 'ipv4' },
      { from: 'caller', to, family: 'ipv6' },
      { from: 'outside', to: at('node port', web), family: 'ipv6' },
      // A Service that nobody changes.
      { from: 'caller', to: at('cluster IP', other), family: 'ipv4' },
    ])
    const histories: readonly (readonly PodName[])[] = [
      ['here-1', 'here-3'],
      ['here-1', 'here-3', 'there-1'],
      ['here-1', 'there-2'],
      ['here-1', 'there-1', 'there-2', 'here-4'],
      ['here-1', 'here-4'],
      ['here-1'],
    ]
    for (const endpoints of histories) {
      await rig.program([{ ...web, endpoints }, dns, other])
      await conversation.goesOn()
    }
    await load.stop()
    expect(load.failures).toEqual([])
    expect(load.connections).toBeGreaterThan(20)
    expect(await faults('caller', to, reaches(['here-1'], 'client'))).toEqual([])
  })

  test('a connection outlives the endpoint that it was given', async () => {
    await rig.program([{ ...web, endpoints: ['here-1'] }, dns, other])
    for (const family of families) {
      const echo = { ip: plans[family].clusterIP(web.index), port: echoPort.port }
      using conversation = await Conversation.start(openTcp(rig.cluster.host('caller'), echo))
      for (const endpoints of [['there-1'], [], ['here-1']] as const) {
        await rig.program([{ ...web, endpoints }, dns, other])
        await expect(conversation.goesOn()).resolves.toBeUndefined()
      }
    }
  })

  test('an endpoint that was replaced gets no new connection', async () => {
    await rig.program([{ ...web, endpoints: ['here-2', 'there-2'] }, dns, other])
    expect(await faults('caller', at('cluster IP', web), reaches(['here-2', 'there-2'], 'client'))).toEqual([])
    expect(await faults('outside', at('node port', web), reaches(['here-2', 'there-2'], 'node'))).toEqual([])
  })

  test('a Service that loses its endpoints refuses, and comes back with them', async () => {
    await rig.program([{ ...web, endpoints: [] }, dns, other])
    for (const door of ['cluster IP', 'node port'] as const)
      expect(await faults('caller', at(door, web), refused)).toEqual([])
    await rig.program([web, dns, other])
    expect(await faults('caller', at('cluster IP', web), reaches(['here-1', 'there-1'], 'client'))).toEqual([])
    expect(await faults('outside', at('node port', web), reaches(['here-1', 'there-1'], 'node'))).toEqual([])
  })

  test('a Service that is deleted is not touched any more, and others stay', async () => {
    await rig.program([dns, other])
    // The nftables table knows that an address like this belongs to a Service, or to nobody.
    const nobody = proxy.mode === 'nftables' || proxy.mode === 'ebpf' ? dropped : untouched
    expect(await faults('caller', at('cluster IP', web), nobody)).toEqual([])
    expect(await faults('outside', at('node port', web), untouched)).toEqual([])
    expect(await faults('caller', at('cluster IP', other), reaches(['here-2'], 'client'))).toEqual([])
  })

  test('a UDP client that keeps its port moves to the endpoint that is left', async () => {
    await rig.program([{ ...dns, endpoints: ['here-1'] }])
    for (const family of families) {
      using talker = talkerTo(rig, plans[family].clusterIP(dns.index))
      await expect.poll(() => talker.ask(), untilHeard).toBe('here-1')
      await rig.program([{ ...dns, endpoints: ['there-1'] }])
      await expect.poll(() => talker.ask(), untilHeard).toBe('there-1')
      await rig.program([{ ...dns, endpoints: ['here-1'] }])
    }
  })

  test('a UDP client that asked before the Service existed reaches it once it does', async () => {
    await rig.program([other])
    // What is sent to a VIP leaves the node in every mode until the Service exists.
    const addresses = families.map((family) => plans[family].vip(dns.index))
    for (const ip of addresses) rig.cluster.listenBeyond({ ip, port: udpPort.port })
    const talkers = addresses.map((ip) => talkerTo(rig, ip))
    for (const talker of talkers) await expect.poll(() => talker.ask(), untilHeard).toBe('beyond')
    await rig.program([dns, other])
    for (const talker of talkers) {
      await expect.poll(() => talker.ask(), untilHeard).toBe('here-1')
      talker[Symbol.dispose]()
    }
  })
})

const untilHeard = { timeout: 20_000, interval: 50 }

function talkerTo(rig: Rig, ip: string): UdpTalker {
  return new UdpTalker(rig.cluster.host('caller'), ip, udpPort.port)
}
