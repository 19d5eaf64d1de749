import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ObjectKey, ObjectRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { parseCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'
import { Catalog } from '../catalog.ts'
import { silentMetrics } from '../proxy-metrics.ts'
import type { GuardPolicy } from './address-guard.ts'
import { RouteTable } from './route-table.ts'
import type { ServiceNotice } from './service-notices.ts'
import { usualPolicy } from './serving-policy.ts'
import { rawNode, rawService, record, service, slice } from '../testing/objects.ts'

const cidr = (text: string) => parseCidr(text) as Cidr
const deny: Partial<GuardPolicy> = { mode: 'deny' }

/** A node "here", 10.200.0.2, with these objects. */
function given(guard: Partial<GuardPolicy>, objects: readonly ObjectRecord[], catalog = new Catalog()) {
  const toldByService = new Map<ObjectKey, readonly ServiceNotice[]>()
  const place = { nodeName: 'here', nodeIP: '10.200.0.2', metrics: silentMetrics, startedAtMs: 0 }
  const policy = { ...usualPolicy, guard: { ...usualPolicy.guard, ...guard } }
  const notices = {
    tell: (_: string, key: ObjectKey, all: readonly ServiceNotice[]) => void toldByService.set(key, all),
  }
  const table = new RouteTable({ ...place, catalog, family: 'ipv4', policy, notices })
  for (const it of objects) catalog.upsert(it)
  catalog.replace('Service', [...catalog.services.values()])
  catalog.replace('EndpointSlice', [...catalog.slices.values()])
  return {
    catalog,
    table,
    /** The external and load-balancer addresses that the Service has. */
    served: (key: string): readonly string[] => {
      const { routesByKey } = table.take({ full: true }).view
      const routes = [...routesByKey.values()].filter(({ namespace, name }) => `${namespace}/${name}` === key)
      return routes.flatMap(({ entrances }) =>
        entrances.flatMap((it) =>
          it.kind === 'external-ip' || it.kind === 'load-balancer-ip' ? [`${it.ip}:${it.port}`] : [],
        ),
      )
    },
    told: (key: string) => (toldByService.get(key as ObjectKey) ?? []).map(({ reason, text }) => `${reason}: ${text}`),
  }
}

const names = (...externalIPs: string[]) =>
  service('evil/thief', { clusterIP: '10.96.0.66', ports: [{ port: 80 }], externalIPs })
const isGivenBalancer = (...ips: string[]) =>
  service(
    'evil/thief',
    { clusterIP: '10.96.0.66', ports: [{ port: 80 }] },
    { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
  )
const web = service('shop/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
const pods = slice('shop/web-1', 'web', [{ addresses: ['10.0.0.1'], nodeName: 'there' }])
const serviceRange = record('ServiceCIDR', { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/16'] } })
const otherNode = record(
  'Node',
  rawNode('there', {
    spec: { podCIDRs: ['10.77.1.0/24'] },
    status: { addresses: [{ type: 'InternalIP', address: '10.200.0.3' }] },
  }),
)

/** What is in the cluster, the address, and why it is not for the Service. */
const hijacks: readonly (readonly [string, readonly ObjectRecord[], string, string])[] = [
  [
    'a free address in the range of Services',
    [serviceRange],
    '10.96.9.9',
    'it is in the range of Services 10.96.0.0/16',
  ],
  ['an address in a range of pods', [], '10.64.9.9', 'it is in the range of pods 10.64.0.0/16'],
  ['one in the pod range of a Node', [otherNode], '10.77.1.5', 'it is in the range of pods 10.77.1.0/24'],
  ["this node's address", [], '10.200.0.2', 'it is an address of node here'],
  ["another node's address", [otherNode], '10.200.0.3', 'it is an address of node there'],
  ["another namespace's pod", [web, pods], '10.0.0.1', 'a pod of shop/web has it'],
  [
    "another namespace's load balancer, at another port",
    [
      service(
        'shop/web',
        { clusterIP: '10.96.0.1', ports: [{ port: 443 }] },
        { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } },
      ),
    ],
    '192.0.2.7',
    'shop/web has it, in another namespace',
  ],
]
const podRanges = [cidr('10.64.0.0/16')]

describe.each(hijacks)('%s', (_, objects, ip, why) => {
  test('is refused by deny, as external and as load-balancer IP', () => {
    const external = given({ ...deny, podRanges }, [...objects, names(ip, '192.0.2.99')])
    expect(external.served('evil/thief')).toEqual(['192.0.2.99:80'])
    expect(external.told('evil/thief')).toEqual([
      `GuardedAddress: external IP ${ip} is not served: ${why} (--external-ip-guard=deny)`,
    ])
    // A Service that is younger, or of no known age, comes after; so does the later name.
    const balanced = given({ ...deny, podRanges }, [...objects, { ...isGivenBalancer(ip), namespace: 'zz' }])
    expect(balanced.served('zz/thief')).toEqual([])
    expect(balanced.told('zz/thief')).toEqual([
      `GuardedAddress: load-balancer IP ${ip} is not served: ${why} (--external-ip-guard=deny)`,
    ])
  })

  test('is served and said by warn, once', () => {
    const { served, told } = given({ podRanges }, [...objects, names(ip)])
    expect(served('evil/thief')).toEqual([`${ip}:80`])
    expect(told('evil/thief')).toEqual([
      ip === '10.200.0.2'
        ? `NodeAddress: external IP ${ip} is an address of this node: what the node itself runs on 80/TCP cannot be reached there`
        : `GuardedAddress: external IP ${ip} is served on 80/TCP, although ${why}; start with --external-ip-guard=deny to refuse it`,
    ])
  })

  test('is served and not mentioned by off', () => {
    const { served, told } = given({ mode: 'off', podRanges }, [...objects, names(ip)])
    expect([served('evil/thief'), told('evil/thief')]).toEqual([[`${ip}:80`], []])
  })

  test('is given back when that is no more, and taken again', () => {
    const { catalog, served } = given({ ...deny, podRanges: [] }, [names(ip), ...objects])
    for (const it of objects.toReversed()) catalog.remove(it.kind, objectKey(it))
    expect(served('evil/thief')).toEqual(ip === '10.200.0.2' ? [] : [`${ip}:80`])
    for (const it of objects) catalog.upsert(it)
    expect(served('evil/thief')).toEqual(objects.length === 0 && ip !== '10.200.0.2' ? [`${ip}:80`] : [])
  })
})

describe('a Namespace', () => {
  const namespace = (name: string, annotations: Record<string, string>) =>
    record('Namespace', { metadata: { name, annotations } })
  const guards = (mode: string) => namespace('evil', { 'fairlead.dev/external-ip-guard': mode })
  const allows = (ranges: string) => namespace('evil', { 'fairlead.dev/external-ip-cidrs': ranges })
  const byNamespace: Partial<GuardPolicy> = { byNamespace: true }

  test('closes, opens or silences what the flag says for the others', () => {
    const stranger = service('shop/late', {
      clusterIP: '10.96.0.67',
      ports: [{ port: 80 }],
      externalIPs: ['10.200.0.3'],
    })
    const both = (mode: GuardPolicy['mode'], own: string) => {
      const { served, told } = given({ ...byNamespace, mode }, [otherNode, guards(own), names('10.77.1.5'), stranger])
      return [served('evil/thief'), told('evil/thief'), served('shop/late')]
    }
    const why = 'it is in the range of pods 10.77.1.0/24'
    const denied = `GuardedAddress: external IP 10.77.1.5 is not served: ${why} (fairlead.dev/external-ip-guard: deny of its namespace)`
    const warned = `GuardedAddress: external IP 10.77.1.5 is served on 80/TCP, although ${why}; set fairlead.dev/external-ip-guard: deny at its namespace to refuse it`
    expect(both('warn', 'deny')).toEqual([[], [denied], ['10.200.0.3:80']])
    expect(both('off', 'deny')).toEqual([[], [denied], ['10.200.0.3:80']])
    expect(both('deny', 'warn')).toEqual([['10.77.1.5:80'], [warned], []])
    expect(both('deny', 'off')).toEqual([['10.77.1.5:80'], [], []])
  })

  test('has no say unless it is asked', () => {
    const objects = [otherNode, guards('off'), names('10.77.1.5')]
    expect(given(deny, objects).served('evil/thief')).toEqual([])
    expect(given({}, [allows('none'), names('192.0.2.1')]).served('evil/thief')).toEqual(['192.0.2.1:80'])
  })

  test('has ranges of its own instead of those of the flag, or none', () => {
    const policy = { ...byNamespace, externalIPCidrs: [cidr('198.51.100.0/24')] }
    const { served, told } = given(policy, [allows('192.0.2.0/28, 2001:db8::/64'), names('192.0.2.1', '198.51.100.1')])
    expect(served('evil/thief')).toEqual(['192.0.2.1:80'])
    expect(told('evil/thief')).toEqual([
      'ExternalIPNotAllowed: external IP 198.51.100.1 is not served: its namespace does not allow it (fairlead.dev/external-ip-cidrs)',
    ])
    const none = given(byNamespace, [allows('none'), names('192.0.2.1'), isGivenBalancer('192.0.2.2')])
    expect(none.served('evil/thief')).toEqual(['192.0.2.2:80'])
    const others = given(policy, [namespace('shop', {}), allows('none'), names()])
    others.catalog.upsert(
      service('shop/x', { clusterIP: '10.96.0.9', ports: [{ port: 80 }], externalIPs: ['198.51.100.1'] }),
    )
    expect(others.served('shop/x')).toEqual(['198.51.100.1:80'])
  })

  test('that changes or goes takes effect at once, for those who wait for the address, too', () => {
    const late = service('zz/late', { clusterIP: '10.96.0.68', ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] })
    const { catalog, served } = given({ ...byNamespace, ...deny }, [names('192.0.2.1'), late])
    const both = () => [served('evil/thief'), served('zz/late')]
    expect(both()).toEqual([['192.0.2.1:80'], []])
    catalog.upsert(allows('none'))
    expect(both()).toEqual([[], ['192.0.2.1:80']])
    catalog.remove('Namespace', 'evil' as ObjectKey)
    expect(both()).toEqual([['192.0.2.1:80'], []])
  })
})

describe('nobody loses an address to the one who should not have it', () => {
  const balancer = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }
  const mine = service('shop/web', { clusterIP: '10.96.0.1', ports: [{ port: 443 }] }, balancer)

  test('the load balancer stays, whoever names its address as external IP, and the older Service among equals', () => {
    const { served } = given(deny, [names('192.0.2.7'), mine])
    expect([served('shop/web'), served('evil/thief')]).toEqual([['192.0.2.7:443'], []])
    const old = record(
      'Service',
      rawService(
        'zz/old',
        { clusterIP: '10.96.0.8', ports: [{ port: 1 }], externalIPs: ['192.0.2.8'] },
        {},
        { creationTimestamp: '2020-01-01T00:00:00Z' },
      ),
    )
    const both = given(deny, [names('192.0.2.8'), old])
    expect([both.served('zz/old'), both.served('evil/thief')]).toEqual([['192.0.2.8:1'], []])
  })

  test('an endpoint that is written by hand takes nothing away', () => {
    const forged = slice('evil/thief-1', 'thief', ['192.0.2.7'])
    expect(given(deny, [mine, names(), forged]).served('shop/web')).toEqual(['192.0.2.7:443'])
    // But those of the API server say nothing of a node either.
    const api = slice('default/kubernetes', 'kubernetes', ['172.16.0.1'])
    expect(given(deny, [api, names('172.16.0.1')]).served('evil/thief')).toEqual([])
  })

  test('a claim that is refused does not stand before others', () => {
    const older = record(
      'Service',
      rawService(
        'evil/old',
        { clusterIP: '10.96.0.9', ports: [{ port: 80 }], externalIPs: ['10.0.0.1'] },
        {},
        { creationTimestamp: '2020-01-01T00:00:00Z' },
      ),
    )
    const own = service('shop/front', { clusterIP: '10.96.0.2', ports: [{ port: 80 }], externalIPs: ['10.0.0.1'] })
    const { served, told } = given(deny, [older, own, web, pods])
    expect([served('evil/old'), served('shop/front')]).toEqual([[], ['10.0.0.1:80']])
    expect(told('shop/front')).toEqual([])
  })

  describe('a claim that is refused because the address is for another namespace', () => {
    const made = (id: string, year: number, port: number, annotations = {}) =>
      record(
        'Service',
        rawService(
          id,
          { clusterIP: `10.97.0.${year % 100}`, ports: [{ port }], externalIPs: ['192.0.2.7'] },
          {},
          { creationTimestamp: `${year}-01-01T00:00:00Z`, annotations },
        ),
      )
    const older = made('evil/old', 2020, 80)
    const own = made('shop/front', 2021, 80)

    test('takes no port from those of the namespace', () => {
      const { served, told } = given(deny, [mine, older, own])
      expect([served('shop/web'), served('evil/old'), served('shop/front')]).toEqual([
        ['192.0.2.7:443'],
        [],
        ['192.0.2.7:80'],
      ])
      expect(told('shop/front')).toEqual([])
      expect(told('evil/old')).toEqual([
        'GuardedAddress: external IP 192.0.2.7 is not served: shop/web has it, in another namespace (--external-ip-guard=deny)',
      ])
    })

    test('gets the port when the address is free, and loses it again', () => {
      const { catalog, served } = given(deny, [mine, older, own])
      expect([served('evil/old'), served('shop/front')]).toEqual([[], ['192.0.2.7:80']])
      catalog.remove('Service', objectKey(mine))
      expect([served('evil/old'), served('shop/front')]).toEqual([['192.0.2.7:80'], []])
      catalog.upsert(mine)
      expect([served('evil/old'), served('shop/front')]).toEqual([[], ['192.0.2.7:80']])
    })

    test('takes no range of ports either, and its own range takes no port', () => {
      const range = { 'fairlead.dev/port-range': '79-90' }
      const ranges = (objects: readonly ObjectRecord[], key: string) => {
        const { table } = given(deny, objects)
        const routes = [...table.take({ full: true }).view.routesByKey.values()]
        return routes
          .filter(({ namespace, name }) => `${namespace}/${name}` === key)
          .flatMap((route) => route.ranges ?? [])
          .filter(({ kind }) => kind === 'external-ip')
          .map(({ ip, port, lastPort }) => `${ip}:${port}-${lastPort}`)
      }
      expect(ranges([mine, older, made('shop/front', 2021, 79, range)], 'shop/front')).toEqual(['192.0.2.7:80-90'])
      expect(given(deny, [mine, made('evil/old', 2020, 79, range), own]).served('shop/front')).toEqual(['192.0.2.7:80'])
    })
  })

  test('a slice that moves to another Service is told of by the name of that one', () => {
    const { catalog, table, told } = given(deny, [web, pods, names('10.0.0.1')])
    table.flush()
    expect(told('evil/thief').join()).toContain('a pod of shop/web has it')
    catalog.upsert({ ...pods, serviceName: 'other' })
    table.flush()
    expect(told('evil/thief').join()).toContain('a pod of shop/other has it')
  })

  test('Services of one namespace share an address', () => {
    const other = service('shop/other', { clusterIP: '10.96.0.3', ports: [{ port: 80 }], externalIPs: ['192.0.2.7'] })
    const { served, told } = given(deny, [mine, other])
    expect([served('shop/web'), served('shop/other'), told('shop/other')]).toEqual([
      ['192.0.2.7:443'],
      ['192.0.2.7:80'],
      [],
    ])
  })
})

describe('ranges that are allowed', () => {
  const externalIPCidrs = [cidr('192.0.2.0/24')]

  test('are all that external IPs get, whatever the mode; load balancers are not asked', () => {
    for (const mode of ['off', 'warn', 'deny'] as const) {
      const { served, told } = given({ mode, externalIPCidrs }, [names('192.0.2.1', '198.51.100.1')])
      expect(served('evil/thief')).toEqual(['192.0.2.1:80'])
      expect(told('evil/thief')).toEqual([
        'ExternalIPNotAllowed: external IP 198.51.100.1 is not served: no range of --external-ip-cidrs has it',
      ])
    }
    expect(given({ externalIPCidrs }, [isGivenBalancer('198.51.100.1')]).served('evil/thief')).toEqual([
      '198.51.100.1:80',
    ])
  })

  test('do not open what the guard closes', () => {
    expect(
      given({ ...deny, externalIPCidrs: [cidr('0.0.0.0/0')] }, [names('10.200.0.2')]).served('evil/thief'),
    ).toEqual([])
  })
})

test('a Service that names very many addresses is told of the first ones', () => {
  const many = Array.from({ length: 300 }, (_, index) => `10.64.${index >> 8}.${index & 255}`)
  const { told } = given({ ...deny, podRanges }, [names(...many)])
  expect(told('evil/thief')).toHaveLength(11)
  expect(told('evil/thief').at(-1)).toBe('GuardedAddress: 290 more addresses of this kind')
})

/** Few addresses, so that everybody meets. */
const anyIP = fc.constantFrom('192.0.2.1', '192.0.2.2', '10.0.0.1', '10.200.0.3', '10.77.1.5', '10.96.9.9')
const anyNamespace = fc.constantFrom('a', 'b')
const anyName = fc.constantFrom('x', 'y')
const anyObject: fc.Arbitrary<ObjectRecord> = fc.oneof(
  fc
    .record({
      namespace: anyNamespace,
      name: anyName,
      port: fc.constantFrom(80, 81),
      externalIPs: fc.uniqueArray(anyIP, { maxLength: 3 }),
      balancer: fc.uniqueArray(anyIP, { maxLength: 1 }),
      creationTimestamp: fc.constantFrom(undefined, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    })
    .map(({ namespace, name, port, externalIPs, balancer, creationTimestamp }) => {
      const clusterIP = `10.96.0.${'axbyab'.indexOf(namespace) + 'xy'.indexOf(name) * 7 + 1}`
      const status = { loadBalancer: { ingress: balancer.map((ip) => ({ ip })) } }
      const spec = { clusterIP, externalIPs, ports: [{ port }] }
      return record('Service', rawService(`${namespace}/${name}`, spec, status, { creationTimestamp }))
    }),
  fc
    .record({ namespace: anyNamespace, name: anyName, service: anyName, ips: fc.uniqueArray(anyIP, { maxLength: 2 }) })
    .map((it) =>
      slice(
        `${it.namespace}/${it.name}`,
        it.service,
        it.ips.map((ip) => ({ addresses: [ip], nodeName: 'there' })),
      ),
    ),
  fc
    .subarray(['10.96.0.0/16', '10.77.0.0/16'])
    .map((cidrs) => record('ServiceCIDR', { metadata: { name: 'kubernetes' }, spec: { cidrs } })),
  fc
    .record({ ip: fc.subarray(['10.200.0.3', '192.0.2.2']), name: fc.constantFrom('here', 'there') })
    .map(({ ip, name }) =>
      record(
        'Node',
        rawNode(name, {
          spec: { podCIDRs: ip.length === 2 ? ['10.77.1.0/24'] : [] },
          status: { addresses: ip.map((address) => ({ type: 'InternalIP', address })) },
        }),
      ),
    ),
  fc
    .record({
      name: anyNamespace,
      guard: fc.constantFrom(undefined, 'warn', 'deny', 'off'),
      ranges: fc.constantFrom(undefined, 'none', '192.0.2.0/24', '10.0.0.0/8'),
    })
    .map(({ name, guard, ranges }) => {
      const annotations = { 'fairlead.dev/external-ip-guard': guard, 'fairlead.dev/external-ip-cidrs': ranges }
      return record('Namespace', { metadata: { name, annotations } })
    }),
)

test('whatever happened before, the addresses and the notices are those that the objects alone would give', () => {
  const step = fc.record({ object: anyObject, does: fc.constantFrom('comes', 'comes', 'goes'), isRouted: fc.boolean() })
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 30, size: 'max' }),
      fc.constantFrom('deny', 'warn', 'off'),
      (history, mode) => {
        const lived = given({ mode, byNamespace: true }, [])
        for (const { object, does, isRouted } of history) {
          if (does === 'comes') lived.catalog.upsert(object)
          // The proxy keeps the addresses of its own Node when that is gone.
          else if (object.kind !== 'Node' || object.name !== 'here')
            lived.catalog.remove(object.kind, objectKey(object))
          if (isRouted) lived.table.flush()
        }
        const fresh = given({ mode, byNamespace: true }, [], lived.catalog)
        for (const key of lived.catalog.services.keys())
          expect([key, lived.served(key), lived.told(key)]).toEqual([key, fresh.served(key), fresh.told(key)])
      },
    ),
    { numRuns: 500 },
  )
})

test('who is said to have a place has it, whoever came and went before', () => {
  const contender = fc.record({
    id: fc.constantFrom('a/x', 'a/y', 'a/z', 'b/x', 'b/y', 'c/x'),
    port: fc.constantFrom(80, 80, 81),
    kind: fc.constantFrom('external', 'external', 'balancer', 'none'),
    year: fc.constantFrom(2020, 2021, 2022),
    isRouted: fc.boolean(),
  })
  const taken = /IP (\S+)\/TCP is not served: it is an? (?:external|load-balancer) IP of (\S+)$/
  const ids = ['a/x', 'a/y', 'a/z', 'b/x', 'b/y', 'c/x']
  fc.assert(
    fc.property(fc.array(contender, { maxLength: 12 }), fc.constantFrom('deny', 'warn'), (history, mode) => {
      const lived = given({ mode }, [])
      for (const { id, port, kind, year, isRouted } of history) {
        const ip = '192.0.2.7'
        const clusterIP = `10.97.0.${ids.indexOf(id) + 1}`
        const spec = { clusterIP, ports: [{ port }], externalIPs: kind === 'external' ? [ip] : [] }
        const status = { loadBalancer: { ingress: kind === 'balancer' ? [{ ip }] : [] } }
        const creationTimestamp = `${year}-01-01T00:00:00Z`
        lived.catalog.upsert(record('Service', rawService(id, spec, status, { creationTimestamp })))
        if (isRouted) lived.table.flush()
      }
      const fresh = given({ mode }, [], lived.catalog)
      for (const key of lived.catalog.services.keys())
        expect([key, lived.served(key), lived.told(key)]).toEqual([key, fresh.served(key), fresh.told(key)])
      const said = [...lived.catalog.services.keys()].flatMap(lived.told).flatMap((text) => {
        const [, at, owner] = taken.exec(text) ?? []
        return at === undefined || owner === undefined ? [] : [{ text, at, owner }]
      })
      for (const { text, at, owner } of said) expect([text, ...lived.served(owner)]).toContain(at)
    }),
    { numRuns: 500 },
  )
})
