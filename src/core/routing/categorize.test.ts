import { describe, expect, test } from 'vitest'
import { categorize } from './categorize.ts'
import type { Wants } from './categorize.ts'
import type { Endpoint } from '../route.ts'

const here = { nodeName: 'here', zone: 'zone-a' }
const clusterOnly: Wants = { clusterEndpoints: true, localEndpoints: false }
const localOnly: Wants = { clusterEndpoints: false, localEndpoints: true }
const both: Wants = { clusterEndpoints: true, localEndpoints: true }

/** `endpoint('1 local zone-a zone-b node:here not-ready leaving gone drained unreached')`: the number names it. */
function endpoint(description: string): Endpoint {
  const [name = '', ...traits] = description.split(' ')
  const has = (trait: string) => traits.includes(trait)
  return {
    ip: name,
    port: 80,
    address: name,
    nodeName: has('local') ? 'here' : 'elsewhere',
    isLocal: has('local'),
    ready: !has('not-ready') && !has('leaving') && !has('gone'),
    serving: !has('gone') && !has('not-ready'),
    terminating: has('leaving') || has('gone'),
    zoneHints: traits.filter((trait) => trait.startsWith('zone-')),
    nodeHints: traits.filter((trait) => trait.startsWith('node:')).map((trait) => trait.slice(5)),
    weight: has('drained') ? 0 : 1,
    ...(has('unreached') && { isUnreachable: true }),
  }
}

function split(wants: Wants, descriptions: readonly string[], place = here) {
  const { cluster, local, reachable, hasUsable, topology } = categorize(descriptions.map(endpoint), wants, place)
  const names = (list: readonly Endpoint[]) => list.map(({ address }) => address).join(' ')
  return { cluster: names(cluster), local: names(local), reachable: names(reachable), hasUsable, topology }
}

describe('topology hints', () => {
  test('keep traffic in the zone when every ready endpoint has one', () => {
    expect(split(clusterOnly, ['1 zone-a', '2 zone-b', '3 zone-a'])).toMatchObject({ cluster: '1 3', reachable: '1 3' })
    expect(split(clusterOnly, ['1 zone-b zone-a', '2 zone-b'])).toMatchObject({ cluster: '1' })
  })

  test.each([
    ['one ready endpoint has no hint', ['1 zone-a', '2'], here],
    ['no endpoint is meant for the zone', ['1 zone-b', '2 zone-c'], here],
    ['the node has no zone', ['1 zone-a', '2 zone-b'], { nodeName: 'here', zone: '' }],
    ['the only endpoint of the zone is not ready', ['1 zone-a not-ready', '2 zone-b', '3 zone-b'], here],
  ])('are ignored when %s', (_, endpoints, place) => {
    const ready = endpoints.filter((it) => !it.includes('not-ready')).map((it) => it.split(' ')[0])
    expect(split(clusterOnly, endpoints, place)).toMatchObject({ cluster: ready.join(' '), topology: 'none' })
  })

  test('of endpoints that are not ready do not matter', () => {
    expect(split(clusterOnly, ['1 zone-a', '2 not-ready', '3 zone-b'])).toMatchObject({ cluster: '1' })
  })

  test('for nodes come before hints for zones', () => {
    const hinted = ['1 node:here zone-a', '2 node:there zone-a', '3 node:there zone-b']
    expect(split(clusterOnly, hinted)).toMatchObject({ cluster: '1', topology: 'PreferSameNode' })
    const place = { nodeName: 'third', zone: 'zone-a' }
    expect(split(clusterOnly, hinted, place)).toMatchObject({ cluster: '1 2', topology: 'PreferSameZone' })
    expect(split(clusterOnly, ['1 node:here zone-a', '2 zone-b'], here)).toMatchObject({ topology: 'PreferSameZone' })
    expect(split(clusterOnly, ['1 node:here', '2'])).toMatchObject({ cluster: '1 2', topology: 'none' })
  })

  test('are given up when the endpoints of the zone shut down', () => {
    expect(split(clusterOnly, ['1 zone-a leaving', '2 zone-b', '3 zone-b'])).toMatchObject({ cluster: '2 3' })
  })

  test('never apply to local endpoints, which stay reachable beside those of the zone', () => {
    const split1 = split(both, ['1 zone-a', '2 local zone-b', '3 zone-b'])
    expect(split1).toMatchObject({ cluster: '1', local: '2', reachable: '1 2' })
  })
})

describe('endpoints that shut down', () => {
  test('are used when nothing else is ready, as long as they still serve', () => {
    expect(split(clusterOnly, ['1 leaving', '2 gone', '3 not-ready'])).toMatchObject({ cluster: '1', hasUsable: true })
    expect(split(clusterOnly, ['1 leaving', '2'])).toMatchObject({ cluster: '2' })
    expect(split(clusterOnly, ['1 not-ready'])).toMatchObject({ cluster: '', hasUsable: false })
  })

  test('are judged for the cluster and for this node separately', () => {
    const rollout = ['1', '2 local gone', '3 local leaving', '4 leaving']
    expect(split(both, rollout)).toMatchObject({ cluster: '1', local: '3', reachable: '1 3', hasUsable: true })
  })

  test('count as usable, those that do not serve do not', () => {
    for (const wants of [both, localOnly]) {
      expect(split(wants, ['1 leaving'])).toMatchObject({ hasUsable: true })
      expect(split(wants, ['1 not-ready', '2 gone'])).toMatchObject({ hasUsable: false })
    }
  })

  test('elsewhere leave nothing for policy Local', () => {
    expect(split(both, ['1 leaving', '2 leaving'])).toMatchObject({ cluster: '1 2', local: '', hasUsable: true })
  })
})

describe('policy Local', () => {
  test('uses local endpoints only', () => {
    expect(split(localOnly, ['1', '2 local', '3'])).toMatchObject({ cluster: '', local: '2', reachable: '2' })
  })

  test('leaves nothing, but knows that others could serve, when all endpoints are elsewhere', () => {
    expect(split(localOnly, ['1', '2'])).toEqual({
      cluster: '',
      local: '',
      reachable: '',
      hasUsable: true,
      topology: 'none',
    })
  })

  test('for outside traffic only keeps the whole cluster for the rest', () => {
    expect(split(both, ['1', '2 local'])).toMatchObject({ cluster: '1 2', local: '2', reachable: '1 2' })
  })
})

test('policy Cluster alone knows no local endpoints', () => {
  expect(split(clusterOnly, ['1 local', '2'])).toMatchObject({ cluster: '1 2', local: '', reachable: '1 2' })
})

describe('most Services need no second list:', () => {
  const lists = (wants: Wants, ...descriptions: readonly string[]) => {
    const endpoints = descriptions.map(endpoint)
    return { endpoints, ...categorize(endpoints, wants, here) }
  }

  test('endpoints that all stay are the list that was given', () => {
    const { endpoints, cluster, local } = lists(both, '1 local', '2 local')
    expect(cluster).toBe(endpoints)
    expect(local).toBe(endpoints)
  })

  test.each([
    ['a local endpoint is among them', ['1', '2 local', '3 not-ready']],
    ['none is local', ['1', '2', '3 not-ready']],
  ])('the reachable endpoints are those of the cluster when %s', (_, descriptions) => {
    const { cluster, reachable } = lists(both, ...descriptions)
    expect(reachable).toBe(cluster)
  })

  test('all that have no endpoints share one list', () => {
    expect(lists(both, '1').local).toBe(lists(both, '2').local)
  })
})

test('without endpoints there is nothing, and nobody to wait for', () => {
  expect(split(both, [])).toMatchObject({ cluster: '', local: '', reachable: '', hasUsable: false })
})

describe('an endpoint with weight 0', () => {
  test('gets nothing new while others are there', () => {
    expect(split(both, ['1 local drained', '2 local', '3'])).toMatchObject({
      cluster: '2 3',
      local: '2',
      reachable: '2 3',
    })
  })

  test('serves where nobody else is left, for each policy by itself', () => {
    expect(split(both, ['1 local drained', '2'])).toMatchObject({ cluster: '2', local: '1', reachable: '1 2' })
    expect(split(both, ['1 drained', '2 drained'])).toMatchObject({ cluster: '1 2', reachable: '1 2' })
  })

  test('is better than one that shuts down', () => {
    expect(split(both, ['1 drained', '2 leaving'])).toMatchObject({ cluster: '1' })
  })

  test('gets nothing of its own zone or node either, while others are there', () => {
    const zones = ['1 zone-a drained', '2 zone-a drained', '3 zone-b', '4 zone-b']
    expect(split(clusterOnly, zones)).toMatchObject({ cluster: '3 4', topology: 'none' })
    expect(split(clusterOnly, ['1 zone-a drained', '2 zone-a', '3 zone-b'])).toMatchObject({ cluster: '2' })
    expect(split(clusterOnly, ['1 node:here drained', '2 node:there'])).toMatchObject({ cluster: '2' })
    expect(split(clusterOnly, ['1 zone-a drained', '2 zone-b drained'])).toMatchObject({ cluster: '1' })
  })

  test('does not keep hints of the others from counting', () => {
    expect(split(clusterOnly, ['1 drained', '2 zone-a', '3 zone-b'])).toMatchObject({ cluster: '2' })
  })
})

describe('an endpoint that this node cannot reach', () => {
  test('is left out while it reaches others, for each policy by itself', () => {
    expect(split(both, ['1 local unreached', '2 local', '3'])).toMatchObject({ cluster: '2 3', local: '2' })
    expect(split(both, ['1 local unreached', '2'])).toMatchObject({ cluster: '2', local: '1', reachable: '1 2' })
    expect(split(clusterOnly, ['1 unreached', '2 unreached'])).toMatchObject({ cluster: '1 2' })
  })

  test('comes before one that is drained', () => {
    expect(split(clusterOnly, ['1 drained', '2 unreached', '3 unreached'])).toMatchObject({ cluster: '2 3' })
    expect(split(clusterOnly, ['1 drained', '2 unreached drained'])).toMatchObject({ cluster: '1' })
    expect(split(clusterOnly, ['1 unreached drained', '2 unreached drained'])).toMatchObject({ cluster: '1 2' })
  })

  test('is left out in its own zone, too, and all of them serve there if none is reached anywhere', () => {
    expect(split(clusterOnly, ['1 zone-a unreached', '2 zone-b'])).toMatchObject({ cluster: '2' })
    expect(split(clusterOnly, ['1 zone-a unreached', '2 zone-b unreached'])).toMatchObject({ cluster: '1' })
  })
})
