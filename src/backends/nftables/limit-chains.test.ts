/** What a limit adds to the table, what changes cost then, and what is counted. */
import { describe, expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import { renderRule } from '../../dataplane/nft/render-rule.ts'
import { describeOperations } from './testing/describe-operations.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { fateOf } from './testing/fate.ts'
import { ProxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal
const here = testEndpoint('10.77.1.5', 8080, { isLocal: true })
const there = (host: number) => testEndpoint(`10.77.2.${host}`, 8080)
const limited = { maxConnections: 10, maxDialsPerSecond: 20 }

function web(wishes: Wishes = {}): Route {
  return testRoute('shop/web:http', {
    clusterIP: '10.112.0.21',
    nodePort: 30_080,
    endpoints: [there(5), there(6)],
    traffic: limited,
    ...wishes,
  })
}

async function programmed(...routes: readonly Route[]): Promise<ProxiedNode> {
  const node = new ProxiedNode({ countsConnections: () => true })
  await node.sync(routes, { full: true })
  node.table.takeOperations()
  return node
}

function rulesOf({ table }: ProxiedNode, chain: string): readonly string[] | undefined {
  return table.rulesOf(chain)?.map((rule) => renderRule(rule, 'ipv4'))
}

async function operations(node: ProxiedNode, ...routes: readonly Route[]): Promise<readonly string[]> {
  await node.sync(routes)
  return describeOperations(node.table.takeOperations()).toSorted()
}

describe('the rules', () => {
  test('ask for open connections first, then for dials, once for all entrances', async () => {
    const node = await programmed(web())
    expect(rulesOf(node, 'limited/shop/web/tcp/http')).toEqual([
      'add @open-10/shop/web/tcp/http { meta l4proto ct count over 10 } goto refused-connections/shop/web/tcp/http',
      'limit rate over 20/second burst 20 packets goto refused-dials/shop/web/tcp/http',
      'ip daddr . meta l4proto . th dport vmap @limited-services',
      'meta l4proto . th dport vmap @limited-nodeports',
    ])
    expect(rulesOf(node, 'refused-connections/shop/web/tcp/http')).toEqual([
      'ip daddr . meta l4proto . th dport @refused-connections comment "counts"',
      'meta l4proto . th dport @refused-nodeport-connections comment "counts"',
      'reject with tcp reset',
    ])
  })

  test('of a Service port without a limit are what they were', async () => {
    const [without, plain] = [await programmed(web({ traffic: undefined })), await programmed(web({ traffic: {} }))]
    for (const node of [without, plain]) {
      const listing = await node.table.list(never)
      expect(listing?.chains.filter((name) => /limited|refused/.test(name))).toEqual([])
      expect((await node.table.elements(node.table.declarationOf('services'), never)).values().next().value).toEqual({
        value: 'goto pick-2',
        packets: 0,
      })
    }
  })

  test('send UDP clients an ICMP message, and not a reset', async () => {
    const node = await programmed(web({ protocol: 'UDP', traffic: { maxConnections: 1 } }))
    expect(rulesOf(node, 'refused-connections/shop/web/udp/http')?.at(-1)).toBe('reject')
  })

  test('do not use up anything for clients outside whom nobody serves', async () => {
    const node = await programmed(web({ externalPolicy: 'Local', endpoints: [there(5)] }))
    const ways = await node.table.elements(node.table.declarationOf('nodeports'), never)
    expect(ways.get('tcp . 30080')?.value).toBe('goto limited-inside/shop/web/tcp/http')
    const fates = async (source: string, inInterface: string) => {
      const packet = { enters: 'prerouting', protocol: 'tcp', destination: '198.51.100.10', port: 30_080 } as const
      const scene = { family: 'ipv4', localIps: ['198.51.100.10'] } as const
      return fateOf(endingsOf(await node.table.ruleset(), scene, { ...packet, source, inInterface }))
    }
    expect(Object.keys(await fates('198.18.5.9', 'eth0'))).toEqual(['dropped'])
    expect(Object.keys(await fates('10.77.1.9', 'cali1'))).toEqual([expect.stringContaining('10.77.2.5')])
  })
})

describe('a change', () => {
  test('of an endpoint costs what it costs without a limit', async () => {
    const changed = { endpoints: [there(5), there(7)] }
    const [with_, without] = [await programmed(web()), await programmed(web({ traffic: undefined }))]
    const cost = await operations(with_, web(changed))
    expect(cost).toEqual(await operations(without, web({ ...changed, traffic: undefined })))
    expect(cost).toHaveLength(4)
  })

  test('of the number of endpoints touches no rule of the limits', async () => {
    const one = testRoute('shop/one', { clusterIP: '10.112.0.31', endpoints: [there(1)] })
    const node = await programmed(web({ nodePort: undefined }), one)
    const cost = await operations(node, web({ endpoints: [there(5)], nodePort: undefined }), one)
    expect(cost.filter((line) => !line.includes('pick-2'))).toEqual([
      '+ limited-services 10.112.0.21 . tcp . 80 : goto pick-1',
      '- endpoints 10.112.0.21 . tcp . 80 . 1',
      '- limited-services 10.112.0.21 . tcp . 80',
    ])
  })

  test('of the limit begins a new count, and only that', async () => {
    const node = await programmed(web({ nodePort: undefined }))
    const cost = await operations(node, web({ nodePort: undefined, traffic: { ...limited, maxConnections: 11 } }))
    expect(cost.filter((line) => line.includes('set') || line.startsWith('+') || line.startsWith('-'))).toEqual([
      'add set open-11/shop/web/tcp/http',
      'delete set open-10/shop/web/tcp/http',
    ])
  })

  test('of everything, by a full sync, keeps the count', async () => {
    const node = await programmed(web())
    await node.sync([web()], { full: true })
    const sent = describeOperations(node.table.takeOperations())
    expect(sent).not.toContain('delete set open-10/shop/web/tcp/http')
  })

  test('that takes all endpoints away keeps the count, too', async () => {
    const node = await programmed(web())
    await operations(node, web({ endpoints: [] }))
    expect((await node.table.list(never))?.sets).toContain('open-10/shop/web/tcp/http')
  })

  test('that takes the limit away leaves nothing of it', async () => {
    const node = await programmed(web({ affinitySeconds: 60 }))
    await operations(node, web({ traffic: undefined }))
    const { chains = [], sets = [] } = (await node.table.list(never)) ?? {}
    expect(chains.filter((name) => /limited|refused/.test(name))).toEqual([])
    expect(sets.filter((name) => name.startsWith('open-'))).toEqual([])
    for (const name of ['limited-services', 'refused-connections', 'refused-nodeport-dials'] as const)
      expect((await node.table.elements(node.table.declarationOf(name), never)).size).toBe(0)
  })
})

test('whoever is refused is counted by the reason, and not as a connection', async () => {
  const node = await programmed(web({ endpoints: [here, there(5)] }))
  const count = (set: Parameters<typeof node.table.declarationOf>[0], key: string, packets: number) =>
    node.table.count(node.table.declarationOf(set), key, packets)
  count('services', '10.112.0.21 . tcp . 80', 10)
  count('nodeports', 'tcp . 30080', 5)
  count('refused-connections', '10.112.0.21 . tcp . 80', 3)
  count('refused-nodeport-connections', 'tcp . 30080', 2)
  count('refused-dials', '10.112.0.21 . tcp . 80', 1)
  const counted = {
    connections: 9,
    turnedAway: { 'no-endpoint': 0, 'max-connections': 5, 'max-dials-per-second': 1 },
  }
  expect((await node.backend.traffic(never)).get(web().key)).toMatchObject(counted)
  // The addresses stay, so nothing begins anew; without the limit its counters go, and what they counted stays.
  await node.sync([web({ endpoints: [here, there(5)], traffic: undefined })])
  expect((await node.backend.traffic(never)).get(web().key)).toMatchObject(counted)
})
