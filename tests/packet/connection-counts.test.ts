/** What each Service and each endpoint carried, counted with real packets. */
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import type { TrafficRow, TrafficTable } from '../../src/observe/traffic/traffic-rows.ts'
import { plans } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadNftables } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { describeEach, fairleads } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const sticky = givenService('sticky', 2, { affinitySeconds: 60, endpoints: ['here-1', 'there-1'] })
const hashed = givenService('hashed', 6, {
  endpoints: ['here-1', 'there-1'],
  annotations: { 'fairlead.dev/algorithm': 'source-hash', 'fairlead.dev/weights': 'node:node1=3' },
})
const idle = givenService('idle', 3, { endpoints: ['here-1'] })
const lonely = givenService('lonely', 4, { endpoints: [] })
const echoPort = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo } as const
const talk = givenService('talk', 5, { ports: [echoPort], endpoints: ['here-1', 'there-1'] })

describeEach([fairleadNftables, fairleadEbpf], (proxy) => {
  test('/metrics counts the new connections of each Service, whichever way they come, and through changes', async () => {
    await using rig = await Rig.start(proxy, {}, [web, sticky, idle])
    await connect(rig, web, 5)
    await connectFromOutside(rig, web, 4)
    await connect(rig, sticky, 3)
    expect(await counts(rig)).toEqual({ web: [19, 19], sticky: [3, 3], idle: [0, 0] })

    // Another number of endpoints makes the kernel forget; we do not.
    await rig.program([{ ...web, endpoints: ['here-1', 'there-1', 'here-2'] }, sticky, idle])
    await connect(rig, web, 2)
    await connectFromOutside(rig, web, 3)
    await rig.program([{ ...web, endpoints: ['here-2'] }, sticky, idle])
    // What was read last is good for a second.
    await expect.poll(() => counts(rig), { timeout: 20_000 }).toEqual({ web: [28, 28], sticky: [3, 3], idle: [0, 0] })
  })
})

describeEach([...fairleads, fairleadEbpf], (proxy) => {
  test('what is counted, per Service and per endpoint, is what was sent, and what is open is what is held', async () => {
    await using rig = await Rig.start(proxy, {}, [web, hashed, idle, lonely, talk])
    rig.cluster.node.run('sysctl', ['-wq', 'net.netfilter.nf_conntrack_acct=1'])
    await connect(rig, web, 4)
    await connectFromOutside(rig, web, 3)
    await connect(rig, hashed, 5)
    for (const family of families)
      expect(await rig.ask('caller', at('cluster IP', lonely), family, 10_000)).toEqual({ kind: 'refused' })
    const held: Conversation[] = []
    for (const family of families) held.push(await hold(rig, talk, family), await hold(rig, talk, family))
    try {
      for (const conversation of held) await conversation.goesOn()
      const rows = await traffic(rig)
      for (const family of families) {
        const [ended, open] = [rows.get(`web ${family}`), rows.get(`talk ${family}`)]
        // Three doors, four times each, and one from outside.
        expect(ended).toMatchObject({ connections: 15, endpointCount: 2 })
        expect(sum(ended, ({ connections }) => connections)).toBe(15)
        // One client has one endpoint.
        expect(
          rows
            .get(`hashed ${family}`)
            ?.endpoints?.map(({ connections }) => connections)
            .sort(),
        ).toEqual([0, 5])
        expect(open).toMatchObject({ connections: 2 })
        expect(sum(open, (endpoint) => endpoint.connections)).toBe(2)
        expect(rows.get(`idle ${family}`)).toMatchObject({ connections: 0 })
        // Nobody knows which connections to an endpoint a hook has made for a Service.
        const isKnown = proxy.mode !== 'ebpf'
        expect(open?.open).toBe(isKnown ? 2 : undefined)
        expect(sum(open, (endpoint) => endpoint.open)).toBe(isKnown ? 2 : 0)
        expect(open?.openBytesIn ?? 0).toBeGreaterThanOrEqual(isKnown ? 1 : 0)
        expect(rows.get(`idle ${family}`)?.open).toBe(isKnown ? 0 : undefined)
        expect(rows.get(`hashed ${family}`)?.open).toBeDefined()
        expect(rows.get(`lonely ${family}`)?.turnedAway?.['no-endpoint']).toBeGreaterThanOrEqual(1)
      }
    } finally {
      for (const conversation of held) conversation[Symbol.dispose]()
    }
  })
})

async function hold(rig: Rig, service: ServiceFixture, family: Family): Promise<Conversation> {
  const echo = { ip: plans[family].clusterIP(service.index), port: echoPort.port }
  return Conversation.start(openTcp(rig.cluster.host('caller'), echo))
}

function sum(
  row: TrafficRow | undefined,
  value: (endpoint: NonNullable<TrafficRow['endpoints']>[number]) => number | undefined,
): number {
  return (row?.endpoints ?? []).reduce((total, endpoint) => total + (value(endpoint) ?? 0), 0)
}

/** That many to each address. */
async function connect(rig: Rig, service: ServiceFixture, times: number): Promise<void> {
  const doors =
    service.type === 'NodePort'
      ? [at('cluster IP', service), at('node port', service), at('cluster IP', service)]
      : [at('cluster IP', service)]
  for (const family of families)
    for (const target of doors)
      for (let time = 0; time < times; time++) {
        const outcome = await rig.ask('caller', target, family, 10_000)
        expect(outcome.kind).toBe('answer')
      }
}

async function connectFromOutside(rig: Rig, service: ServiceFixture, times: number): Promise<void> {
  for (const family of families)
    for (let time = 0; time < times; time++)
      expect(await rig.ask('outside', at('node port', service), family, 10_000)).toMatchObject({ kind: 'answer' })
}

/** By name and family. */
async function traffic(rig: Rig): Promise<ReadonlyMap<string, TrafficRow>> {
  const table = JSON.parse(await fetchUntilThere(rig, '/debug/traffic?endpoints=true')) as TrafficTable
  return new Map(table.services.map((row) => [`${/\/(.*):/.exec(row.service)?.[1]} ${row.family}`, row]))
}

/** Of IPv4 and of IPv6. */
async function counts(rig: Rig): Promise<Readonly<Record<string, readonly number[]>>> {
  const text = await fetchUntilThere(rig, '/metrics')
  const countOf = (service: string, family: string) =>
    Number(
      text
        .split('\n')
        .find(
          (line) =>
            line.startsWith('fairlead_service_connections_total{') &&
            line.includes(`service="${service}",port="http",protocol="TCP",ip_family="${family}"`),
        )
        ?.split(' ')
        .at(-1),
    )
  return Object.fromEntries(
    [web, sticky, idle].map(({ name }) => [name, ['IPv4', 'IPv6'].map((family) => countOf(name, family))]),
  )
}

/** A busy machine may need a second try. */
async function fetchUntilThere(rig: Rig, path: string): Promise<string> {
  let text = ''
  await expect
    .poll(
      async () => {
        const answer = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, path)
        if (typeof answer === 'object' && answer.status === 200) text = answer.body
        return text
      },
      { timeout: 20_000 },
    )
    .not.toBe('')
  return text
}
