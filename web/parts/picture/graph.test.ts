import { expect, test } from 'vitest'
import type { EndpointDetail, EntranceDetail, PortDetail } from '../../../src/observe/console/wire.ts'
import { dotsOf, edgeWidth } from './flow.ts'
import { graphOf } from './graph.ts'
import { cut, layoutOf, narrowest } from './layout.ts'
import type { Box } from './layout.ts'

test('clients outside have a way to node ports, and none to a cluster IP', () => {
  const { nodes, edges } = graphOf(port({ entrances: [clusterIp(['a', 'b']), nodePort(['a', 'b'])] }))
  expect(edges.filter(({ from }) => from === 'client outside').map(({ to }) => to)).toEqual([
    'entrance node-port 30080',
  ])
  const alone = graphOf(port({ entrances: [clusterIp(['a'])] }))
  expect(alone.edges.some(({ from }) => from === 'client outside')).toBe(false)
  expect(alone.nodes.find(({ id }) => id === 'client outside')).toMatchObject({
    isFaint: true,
    lines: ['no way in'],
  })
  expect(nodes.find(({ id }) => id === 'client outside')?.isFaint).toBeUndefined()
})

test('what is treated alike has one policy, and what is not has two that say for whom', () => {
  const same = graphOf(port({ entrances: [clusterIp(['a', 'b']), nodePort(['a', 'b'])] }))
  expect(same.nodes.filter(({ column }) => column === 'policy')).toHaveLength(1)
  const local: EntranceDetail = {
    ...nodePort(['a', 'b']),
    outside: { does: 'forward', policy: 'Local', text: '', to: ['a'] },
    allowed: ['10.0.0.0/8'],
  }
  const { nodes, edges } = graphOf(port({ entrances: [local] }), { remarks: ['same zone'] })
  expect(nodes.filter(({ column }) => column === 'policy')).toMatchObject([
    { title: 'Cluster', lines: ['one of 2 endpoints', 'same zone'] },
    { title: 'Local', lines: ['endpoints of this node', 'only from 10.0.0.0/8'] },
  ])
  expect(edges.filter(({ from }) => from.startsWith('entrance')).map(({ label }) => label)).toEqual([
    'inside',
    'outside',
  ])
})

test('for whom a policy is, is said once, however many addresses lead to it', () => {
  const outside = { does: 'forward', policy: 'Local', text: '', to: ['a'] } as const
  const entrances = [nodePort(['a', 'b']), { ...nodePort(['a', 'b']), address: '30443' }]
  const { edges } = graphOf(port({ entrances: entrances.map((entrance) => ({ ...entrance, outside })) }))
  const labels = edges.filter(({ from }) => from.startsWith('entrance')).map(({ label }) => label)
  expect(labels).toHaveLength(4)
  expect(labels.filter((label) => label !== undefined)).toEqual(['inside', 'outside'])
})

test('what is turned away ends at the policy, and says how', () => {
  const refused: EntranceDetail = {
    ...clusterIp([]),
    local: { does: 'reject', policy: 'Cluster', text: 'refused: no endpoint' },
    outside: { does: 'drop', policy: 'Local', text: 'dropped' },
  }
  const { nodes, edges } = graphOf(port({ entrances: [refused], endpoints: [] }))
  expect(nodes.find(({ column }) => column === 'policy')).toMatchObject({
    title: 'Rejected',
    lines: ['refused: no endpoint'],
    mark: 'reject',
  })
  expect(edges.every(({ isRefused }) => isRefused === true)).toBe(true)
  expect(edges.flatMap((edge) => dotsOf(edge) ?? [])).toEqual([])
})

test('an endpoint that may not answer is faint, has a reason and no edge', () => {
  const ill: EndpointDetail = { address: 'c', state: 'not ready', whyNot: 'it is not ready' }
  const { nodes, edges } = graphOf(port({ endpoints: [...two, ill] }))
  expect(nodes.find(({ title }) => title === 'c')).toMatchObject({
    isFaint: true,
    lines: ['not ready', 'it is not ready'],
  })
  expect(edges.some(({ to }) => to === 'endpoint c')).toBe(false)
})

test('many endpoints fold into one, with what they get together; those that answer are shown first', () => {
  const endpoints: EndpointDetail[] = [
    ...Array.from({ length: 5 }, (_, index): EndpointDetail => ({
      address: `ill-${index}`,
      state: 'terminating',
      whyNot: 'it ends',
    })),
    ...Array.from({ length: 42 }, (_, index): EndpointDetail => ({
      address: `good-${index}`,
      state: 'ready',
      share: 1 / 42,
      traffic: { connectionRate: 2 },
    })),
  ]
  const to = endpoints.slice(5).map(({ address }) => address)
  const { nodes, edges } = graphOf(port({ endpoints, entrances: [clusterIp(to)] }))
  const shown = nodes.filter(({ column }) => column === 'endpoints')
  expect(shown).toHaveLength(11)
  expect(shown[0]?.title).toBe('good-0')
  expect(shown.at(-1)).toMatchObject({ title: 'and 37 more', lines: ['32 of them may answer'] })
  expect(edges.at(-1)).toMatchObject({ to: 'endpoint more', rate: 64, label: '76 % · 64/s' })
})

test('rates are told where they are known, and hinted at where any of several ways may carry them', () => {
  const { edges } = graphOf(port({ traffic: { connectionRate: 8 } }))
  expect(edges.find(({ from }) => from.startsWith('entrance'))).toMatchObject({ rate: 8, label: '8/s' })
  expect(edges[0]).toMatchObject({ isOneOfSeveral: true })
  const both = graphOf(
    port({ entrances: [clusterIp(['a', 'b']), nodePort(['a', 'b'])], traffic: { connectionRate: 8 } }),
  )
  expect(both.edges.filter(({ from }) => from.startsWith('entrance')).map(({ rate }) => rate)).toEqual([
    undefined,
    undefined,
  ])
  const idle = graphOf(port({ traffic: { connectionRate: 0 } }))
  expect(idle.edges.flatMap((edge) => dotsOf(edge) ?? [])).toEqual([])
})

test('an endpoint of two policies has one label', () => {
  const local: EntranceDetail = {
    ...nodePort(['a', 'b']),
    outside: { does: 'forward', policy: 'Local', text: '', to: ['a'] },
  }
  const { edges } = graphOf(port({ entrances: [local] }))
  expect(edges.filter(({ to }) => to === 'endpoint a').map(({ label }) => label)).toEqual(['50 %', undefined])
})

test('dots are faster where more comes, in steps; edges are wider where the share is greater', () => {
  const seconds = [0.5, 1, 10, 100, 1000].map((rate) => dotsOf({ from: '', to: '', rate })?.seconds ?? 0)
  expect(seconds).toEqual([...seconds].sort((a, b) => b - a))
  expect(new Set(seconds).size).toBe(5)
  expect(dotsOf({ from: '', to: '', rate: 10 })).toEqual(dotsOf({ from: '', to: '', rate: 11 }))
  expect(edgeWidth({ from: '', to: '', share: 1 })).toBeGreaterThan(edgeWidth({ from: '', to: '', share: 0.1 }))
})

const widths = [300, 328, 500, narrowest - 1, narrowest, 900, 1248, 1440]

test.each(widths)('nothing overlaps and nothing sticks out at a width of %d', (width) => {
  for (const count of [0, 1, 3, 9, 40]) {
    const endpoints = Array.from({ length: count }, (_, index): EndpointDetail => ({
      address: `[fd00:10:244:${index}:abcd:ef01:2345:6789]:8080`,
      state: index % 3 === 0 ? 'ready' : 'not ready',
      node: 'a-node-with-quite-a-long-name-for-a-node',
      zone: 'europe-west-1b',
      ...(index % 3 === 0 ? { share: 3 / count } : { whyNot: 'its readiness probe fails, or it has not started yet' }),
    }))
    const to = endpoints.map(({ address }) => address)
    const { nodes, height, edges } = layoutOf(
      graphOf(port({ endpoints, entrances: [clusterIp(to), nodePort(to)] })),
      width,
    )
    for (const [index, one] of nodes.entries()) {
      expect(one.x).toBeGreaterThanOrEqual(0)
      expect(one.x + one.width).toBeLessThanOrEqual(width)
      expect(one.y + one.height).toBeLessThanOrEqual(height)
      for (const other of nodes.slice(index + 1)) expect(overlap(one, other)).toBe(false)
    }
    for (const { path } of edges) expect(path).not.toMatch(/NaN|undefined/)
  }
})

test('labels at one side of the endpoints do not touch', () => {
  const { edges } = layoutOf(graphOf(port({})), 1000)
  const places = edges.flatMap(({ label }) => (label === undefined ? [] : [label.y]))
  expect(Math.abs((places[1] ?? 0) - (places[0] ?? 0))).toBeGreaterThan(12)
})

test('labels lie beside their edges: below those that come from above', () => {
  const { edges, nodes } = layoutOf(graphOf(port({})), 1000)
  const labels = edges.flatMap(({ edge, label }) => (label === undefined ? [] : [{ to: edge.to, y: label.y }]))
  const sides = labels.map(({ to, y }) => {
    const box = nodes.find(({ node }) => node.id === to)
    return box === undefined ? 'nowhere' : y < box.y + box.height / 2 ? 'above' : 'below'
  })
  expect(sides).toEqual(['above', 'below'])
})

test('where there is no room for labels, the endpoints have them', () => {
  const { nodes, edges } = layoutOf(graphOf(port({})), 328)
  expect(edges.every(({ label }) => label === undefined)).toBe(true)
  expect(nodes.find(({ node }) => node.id === 'endpoint a')?.lines[0]).toBe('50 %')
})

test('a long line is broken between words, and its box is higher', () => {
  const text = 'refused: no endpoint can serve, as far as this node knows'
  const outcome = { does: 'reject', policy: 'Cluster', text } as const
  const entrances = [{ ...clusterIp([]), local: outcome, outside: outcome }]
  const { nodes } = layoutOf(graphOf(port({ entrances, endpoints: [] })), 1000)
  const policy = nodes.find(({ node }) => node.column === 'policy')
  expect(policy?.lines).toHaveLength(2)
  expect(policy?.lines[0]).toBe('refused: no endpoint can')
})

test('a reason that only repeats the state is not told twice', () => {
  const ill: EndpointDetail = { address: 'c', state: 'not ready', whyNot: 'not ready' }
  expect(graphOf(port({ endpoints: [ill] })).nodes.at(-1)?.lines).toEqual(['not ready'])
})

test('what is too long is cut, but keeps its port', () => {
  expect(cut('10.0.0.1:80', 20)).toBe('10.0.0.1:80')
  expect(cut('[fd00:10:244:1::1]:8080', 16)).toBe('[fd00:10:2…:8080')
  expect(cut('🙂🙂🙂🙂', 3)).toBe('🙂🙂…')
})

const two: readonly EndpointDetail[] = [
  { address: 'a', state: 'ready', share: 0.5, isLocal: true },
  { address: 'b', state: 'ready', share: 0.5, node: 'n2', zone: 'z2' },
]

function port(over: Partial<PortDetail>): PortDetail {
  return {
    route: 'shop/web:http/TCP',
    family: 'ipv4',
    port: { name: 'http', port: 80, protocol: 'TCP' },
    entrances: [clusterIp(['a', 'b'])],
    endpoints: two,
    ...over,
  }
}

function clusterIp(to: readonly string[]): EntranceDetail {
  return entrance('cluster-ip', '10.96.0.10:80', to)
}

function nodePort(to: readonly string[]): EntranceDetail {
  return entrance('node-port', '30080', to)
}

function entrance(kind: EntranceDetail['kind'], address: string, to: readonly string[]): EntranceDetail {
  const outcome = { does: 'forward', policy: 'Cluster', text: '', to } as const
  return { kind, address, local: outcome, outside: outcome }
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

test('a page that knows more names the clients, the endpoints, and where the address is served', () => {
  const entrance = clusterIp(['a', 'b'])
  const { nodes, edges } = graphOf(port({ entrances: [entrance], traffic: { connectionRate: 3 } }), {
    clients: { title: '4 clients', lines: [] },
    names: new Map([['a', 'web-1']]),
    servedAt: '127.0.0.1:8080',
  })
  expect(nodes.filter(({ column }) => column === 'clients').map(({ title }) => title)).toEqual(['4 clients'])
  expect(nodes.find(({ column }) => column === 'entrances')?.lines).toEqual(['cluster IP', 'here at 127.0.0.1:8080'])
  expect(nodes.find(({ title }) => title === 'web-1')?.lines[0]).toBe('a')
  expect(edges.find(({ from }) => from === 'client known')).toMatchObject({ rate: 3 })
})
