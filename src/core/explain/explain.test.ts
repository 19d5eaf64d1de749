import { describe, expect, test } from 'vitest'
import type { Protocol, ServiceRecord } from '../../api/records.ts'
import { Catalog } from '../catalog.ts'
import { node, rawService, record, service, slice } from '../testing/objects.ts'
import type { Explanation } from './explanation.ts'
import { explain } from './explain.ts'
import type { ModeTraits } from './mode-traits.ts'
import { answerTo, explained, given } from './testing/given.ts'
import type { Given } from './testing/given.ts'

/** `10.64.0.1 here leaving zone-b`: ready and on another node, unless it says otherwise. */
function endpoint(description: string): object {
  const [ip, ...words] = description.split(' ')
  const has = (word: string) => words.includes(word)
  const named = (prefix: string) =>
    words.filter((word) => word.startsWith(prefix)).map((word) => ({ name: word.slice(prefix.length) }))
  return {
    addresses: [ip],
    nodeName: has('here') ? 'here' : 'there',
    zone: named('in-')[0]?.name,
    conditions: {
      ready: !has('leaving') && !has('gone') && !has('unready'),
      serving: !has('gone') && !has('unready'),
      terminating: has('leaving') || has('gone'),
    },
    hints: { forZones: named('zone-'), forNodes: named('for-') },
  }
}

function slices(...endpoints: readonly string[]) {
  return slice('shop/web-1', 'web', endpoints.map(endpoint) as never, [{ name: 'http', port: 8080, protocol: 'TCP' }])
}

function web(spec: object = {}, ingress: readonly string[] = []): ServiceRecord {
  const status = { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } }
  const whole = { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{ name: 'http', port: 80 }], ...spec }
  return service('shop/web', whole, status)
}

const nodePort = { type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30_080 }] }
const local = { externalTrafficPolicy: 'Local' }

function who({ answerers }: Explanation): string {
  return answerers.map(({ address, share }) => `${address} ${share?.part}/${share?.of}`).join(', ')
}

function whyNot({ others }: Explanation): readonly string[] {
  return others.map(({ address, why, detail }) => [address, why, detail].filter(Boolean).join(': '))
}

describe('who answers, and why others do not', () => {
  test('each with its zone, where its slice says one', () => {
    const listed = ['10.64.0.1 in-a', '10.64.0.2', '10.64.0.3 in-b unready']
    const { answerers, others } = explained(given([web(), slices(...listed)]), '10.96.0.1:80')
    expect([...answerers, ...others].map(({ address, zone }) => [address, zone])).toEqual([
      ['10.64.0.1:8080', 'a'],
      ['10.64.0.2:8080', undefined],
      ['10.64.0.3:8080', 'b'],
    ])
  })

  const reasons: readonly [string, object, readonly string[], string, readonly string[]][] = [
    ['all that are ready', {}, ['10.64.0.1', '10.64.0.2'], '10.64.0.1:8080 1/2, 10.64.0.2:8080 1/2', []],
    ['not ready', {}, ['10.64.0.1', '10.64.0.2 unready'], '10.64.0.1:8080 1/1', ['10.64.0.2:8080: not ready']],
    ['terminating', {}, ['10.64.0.1', '10.64.0.2 leaving'], '10.64.0.1:8080 1/1', ['10.64.0.2:8080: terminating']],
    [
      'the last resort',
      {},
      ['10.64.0.1 gone', '10.64.0.2 leaving', '10.64.0.3 unready'],
      '10.64.0.2:8080 1/1',
      ['10.64.0.1:8080: no longer serving', '10.64.0.3:8080: not ready'],
    ],
    [
      'another node',
      { internalTrafficPolicy: 'Local' },
      ['10.64.0.1 here', '10.64.0.2'],
      '10.64.0.1:8080 1/1',
      ['10.64.0.2:8080: on another node'],
    ],
    [
      'another zone',
      {},
      ['10.64.0.1 zone-a', '10.64.0.2 zone-b zone-c'],
      '10.64.0.1:8080 1/1',
      ['10.64.0.2:8080: for another zone: its hints say b, c, and this node is in a'],
    ],
    [
      'hints for nodes',
      {},
      ['10.64.0.1 for-here', '10.64.0.2 for-there'],
      '10.64.0.1:8080 1/1',
      ['10.64.0.2:8080: for another node: its hints say there, and this node is here'],
    ],
    ['loopback', {}, ['10.64.0.1', '127.0.0.9'], '10.64.0.1:8080 1/1', ['127.0.0.9:8080: loopback address']],
  ]
  test.each(reasons)('%s', (_, spec, endpoints, answers, others) => {
    const explanation = explained(given([node('here', 'a'), web(spec), slices(...endpoints)]), '10.96.0.1:80')
    expect(who(explanation)).toBe(answers)
    expect(whyNot(explanation)).toEqual(others)
  })

  test.each([
    [
      'one has none',
      'a',
      ['10.64.0.1 zone-a', '10.64.0.2'],
      '10.64.0.2:8080 has no hint for a zone, and all ready endpoints need one',
    ],
    [
      'some have none',
      'a',
      ['10.64.0.1 zone-a', '10.64.0.2', '10.64.0.3'],
      '10.64.0.2:8080 and 1 more have no hint for a zone, and all ready endpoints need one',
    ],
    ['none is for this zone', 'a', ['10.64.0.1 zone-b', '10.64.0.2 zone-c'], 'no ready endpoint is meant for zone a'],
    [
      'the node has no zone',
      '',
      ['10.64.0.1 zone-b'],
      'this node has no zone (label topology.kubernetes.io/zone of its Node)',
    ],
    ['none is for this node', 'a', ['10.64.0.1 for-there'], 'no ready endpoint is meant for this node, here'],
    [
      'one has none for a node',
      'a',
      ['10.64.0.1 for-here', '10.64.0.2'],
      '10.64.0.2:8080 has no hint for a node, and all ready endpoints need one',
    ],
    ['one without is not ready', 'a', ['10.64.0.1 zone-a', '10.64.0.2 unready'], undefined],
    ['there are none', 'a', ['10.64.0.1', '10.64.0.2'], undefined],
    ['hints for zones take over', 'a', ['10.64.0.1 for-there zone-a'], undefined],
  ])('hints are not used: %s', (_, zone, endpoints, why) => {
    const explanation = explained(given([node('here', zone), web(), slices(...endpoints)]), '10.96.0.1:80')
    expect(explanation.whyNoHints).toBe(why)
  })

  test('hints do not matter where the policy is Local', () => {
    const objects = [node('here', 'a'), web({ internalTrafficPolicy: 'Local' }), slices('10.64.0.1 here zone-b')]
    expect(explained(given(objects), '10.96.0.1:80').whyNoHints).toBeUndefined()
  })

  test('no such port, and the other family', () => {
    const other = slice('shop/web-2', 'web', ['10.64.0.9'], [{ name: 'grpc', port: 9090, protocol: 'TCP' }])
    const v6 = slice('shop/web-3', 'web', ['fd00::9'], [{ name: 'http', port: 8080, protocol: 'TCP' }])
    const explanation = explained(given([web(), slices('10.64.0.1'), other, v6]), '10.96.0.1:80')
    expect(whyNot(explanation)).toEqual([
      '10.64.0.9: no such port: its slice has port grpc 9090/TCP',
      '[fd00::9]:8080: other family',
    ])
  })
})

describe('the policy that applies', () => {
  const world = given([web({ ...nodePort, ...local }), slices('10.64.0.1 here', '10.64.0.2')])
  test.each([
    ['10.64.0.7', 'Cluster', '10.64.0.1:8080 1/2, 10.64.0.2:8080 1/2'],
    ['host', 'Cluster', '10.64.0.1:8080 1/2, 10.64.0.2:8080 1/2'],
    ['outside', 'Local', '10.64.0.1:8080 1/1'],
    ['203.0.113.7', 'Local', '10.64.0.1:8080 1/1'],
  ])('of a node port with policy Local, from %s, is %s', (from, policy, answers) => {
    const explanation = explained(world, 'node-port 30080', { from })
    expect(explanation.policy).toMatchObject({ field: 'externalTrafficPolicy', asked: 'Local', policy })
    expect(who(explanation)).toBe(answers)
  })

  test.each([
    [{}, [], 'reject', 'no endpoint', 'refused at once'],
    [{ internalTrafficPolicy: 'Local' }, ['10.64.0.2'], 'drop', 'no endpoint here', 'timeout'],
  ])('%o with endpoints %o ends in %s', (spec, endpoints, kind, because, clientSees) => {
    const explanation = explained(given([web(spec), slices(...endpoints)]), '10.96.0.1:80')
    expect(explanation).toMatchObject({ verdict: { kind, because }, clientSees, answerers: [] })
  })
})

describe('where a client is', () => {
  const objects = [web(), slices('10.64.0.1 here', '10.64.9.2')]
  const none = { kind: 'none' } as const
  const prefix = { kind: 'interface-prefix', prefix: 'veth' } as const
  const cases: readonly [string, Given, string, boolean, RegExp][] = [
    ['10.64.0.7', {}, 'pod on this node', true, /in the cluster CIDR, 10.64.0.0\/16/],
    ['10.64.9.2', {}, 'pod elsewhere', true, /in the cluster CIDR/],
    ['203.0.113.7', {}, 'outside', false, /not in the cluster CIDR/],
    ['10.64.0.7', { detectLocalMode: 'NodeCIDR' }, 'pod on this node', true, /the pod CIDR of this node/],
    ['192.0.2.12', {}, 'this node', true, /an address of this node/],
    ['127.0.0.1', {}, 'this node', true, /an address of this node/],
    ['10.64.0.1', { localTraffic: none }, 'pod on this node', false, /pods cannot be told from other clients/],
    ['10.64.0.1', { localTraffic: prefix }, 'pod on this node', true, /through an interface veth\*/],
    ['10.64.0.7', { localTraffic: prefix }, 'outside', false, /not known as a pod of this node/],
    ['outside', {}, 'outside', false, /neither on this node nor one of its pods/],
    ['host', {}, 'this node', true, /a program on this node/],
    ['pod', {}, 'pod on this node', true, /its address is in the cluster CIDR/],
  ]
  test.each(cases)('%s with %o is %s', (from, options, place, isInside, why) => {
    const { source } = explained(given(objects, options), '10.96.0.1:80', { from })
    expect(source).toMatchObject({ place, isInside })
    expect(source.why).toMatch(why)
  })

  test('nobody said: a pod for a cluster IP, a client outside for a node port', () => {
    const world = given([web(nodePort), slices('10.64.0.1')])
    expect(explained(world, '10.96.0.1:80').source.place).toBe('pod on this node')
    expect(explained(world, 'node-port 30080').source.place).toBe('outside')
  })
})

describe('whose address endpoints see', () => {
  const objects = [web(nodePort), slices('10.64.0.1 here', '10.64.0.2')]
  const seen = (options: Given, target: string, from: string, spec?: object) =>
    explained(given(spec === undefined ? objects : [web(spec), slices('10.64.0.1 here')], options), target, { from })
      .answerers.map(({ sourceSeen }) => sourceSeen)
      .join(' ')
  test('of a pod at the cluster IP its own, unless it reaches itself', () => {
    expect(seen({}, '10.96.0.1:80', '10.64.0.7')).toBe('client client')
    expect(seen({}, '10.96.0.1:80', '10.64.0.1')).toBe('node client')
  })
  test('of others at the cluster IP that of the node', () => {
    expect(seen({}, '10.96.0.1:80', '203.0.113.7')).toBe('node node')
    expect(seen({ localTraffic: { kind: 'none' } }, '10.96.0.1:80', '203.0.113.7')).toBe('client client')
    expect(seen({ masqueradeAll: true }, '10.96.0.1:80', '10.64.0.7')).toBe('node node')
  })
  test('at a node port it depends on the policy', () => {
    expect(seen({}, 'node-port 30080', '203.0.113.7')).toBe('node node')
    expect(seen({}, 'node-port 30080', '203.0.113.7', { ...nodePort, ...local })).toBe('client')
  })
  describe('of a relay', () => {
    const relay = { source: 'the relay' } as const
    const hiding = { ...relay, relaysAsClientIn: ['ipv4'] } as const
    const wishing = (clientAddress: 'node' | 'transparent', from: string) =>
      explained(
        given([{ ...web(nodePort), relaying: { clientAddress } }, slices('10.64.0.1 here', '10.64.0.2')], {
          traits: hiding,
        }),
        'node-port 30080',
        { from },
      )
        .answerers.map(({ sourceSeen }) => sourceSeen)
        .join(' ')
    test('that of the node, where it cannot hide', () => {
      expect(seen({ traits: relay }, '10.96.0.1:80', '10.64.0.7')).toBe('node node')
    })
    test('that of the node, with the reason why the client cannot be seen', () => {
      const traits = { ...relay, relaysAsNodeBecause: { ipv4: 'another program keeps a rule before ours' } }
      const explanation = explained(given(objects, { traits }), '10.96.0.1:80', { from: '10.64.0.7' })
      expect(JSON.stringify(explanation)).toContain('of the node (another program keeps a rule before ours)')
    })
    test('that of the client where a kernel mode would keep it', () => {
      expect(seen({ traits: hiding }, '10.96.0.1:80', '10.64.0.7')).toBe('client client')
      expect(seen({ traits: hiding }, '10.96.0.1:80', '10.64.0.1')).toBe('node client')
      expect(seen({ traits: hiding }, '10.96.0.1:80', '203.0.113.7')).toBe('node node')
      expect(seen({ traits: hiding }, '10.96.0.1:80', 'host')).toBe('node node')
      expect(seen({ traits: hiding, masqueradeAll: true }, '10.96.0.1:80', '10.64.0.7')).toBe('node node')
      expect(seen({ traits: hiding }, 'node-port 30080', '203.0.113.7')).toBe('node node')
      expect(seen({ traits: hiding }, 'node-port 30080', '203.0.113.7', { ...nodePort, ...local })).toBe('client')
    })
    test('that of the node at endpoints that would not answer through it', () => {
      const none = { traits: hiding, localTraffic: { kind: 'none' } } as const
      expect(seen(none, '10.96.0.1:80', '203.0.113.7')).toBe('client node')
      const bridge = { traits: hiding, localTraffic: { kind: 'interface', name: 'cbr0' } } as const
      expect(seen(bridge, '10.96.0.1:80', 'pod')).toBe('node client')
    })
    test('as the Service wants it', () => {
      expect(wishing('node', '10.64.0.7')).toBe('node node')
      expect(wishing('transparent', '10.64.0.7')).toBe('client client')
      expect(wishing('transparent', '203.0.113.7')).toBe('client node')
    })
  })
  describe('where sockets are connected to endpoints', () => {
    const everybody = 'this node and its pods'
    const protocols = ['TCP', 'UDP'] as const
    const sockets = { clients: everybody, protocols, connectedUdp: everybody, longestList: 2 } as const
    const traits = { sockets } as const
    test('that of the client on this node, whatever masquerades packets', () => {
      expect(seen({ traits }, '10.96.0.1:80', '10.64.0.1')).toBe('client client')
      expect(seen({ traits, masqueradeAll: true }, '10.96.0.1:80', '10.64.0.1')).toBe('client client')
      expect(seen({ traits }, 'node-port 30080', '10.64.0.1')).toBe('client client')
      expect(seen({ traits }, '10.96.0.1:80', 'host')).toBe('node node')
    })
    test('of others as in packets', () => {
      expect(seen({ traits }, 'node-port 30080', '203.0.113.7')).toBe('node node')
    })
    test('where connections between pods are not tracked, that of the node, if packets are translated', () => {
      const untracked = { traits: { untrackedPods: ['10.64.0.0/25', 'fd00::/64'] } }
      expect(seen(untracked, '10.96.0.1:80', '10.64.0.7')).toBe('node node')
      expect(seen(untracked, '10.96.0.1:80', '10.64.0.200')).toBe('client client')
      expect(seen({ traits: { ...untracked.traits, sockets } }, '10.96.0.1:80', '10.64.0.7')).toBe('client client')
      const { sourceSeenWhy } = explained(given([web(), slices('10.64.0.1')], untracked), '10.96.0.1:80', {
        from: '10.64.0.7',
      })
      expect(sourceSeenWhy).toContain('--ebpf-untracked-pods')
    })
    test('as in packets where a list is too long for sockets', () => {
      const seenAt = (...ips: readonly string[]) => {
        const cluster = given([web(), slices(...ips)], { traits, masqueradeAll: true })
        return explained(cluster, '10.96.0.1:80', { from: '10.64.0.1' }).answerers.map(({ sourceSeen }) => sourceSeen)
      }
      expect(seenAt('10.64.0.1 here', '10.64.0.2')).toEqual(['client', 'client'])
      expect(seenAt('10.64.0.1 here', '10.64.0.2', '10.64.0.3')).toEqual(['node', 'node', 'node'])
    })
    test('a pod is on this node even if packets cannot tell', () => {
      const unknown = { traits, localTraffic: { kind: 'none' } } as const
      const explanation = explained(
        given([web({ ...nodePort, ...local }), slices('10.64.0.2')], unknown),
        'node-port 30080',
        {
          from: 'pod',
        },
      )
      expect(explanation.answerers.map(({ sourceSeen }) => sourceSeen)).toEqual(['client'])
    })
    const remarkOf = (record: ServiceRecord, options: Given, target = '10.96.0.1:80', from = 'pod') =>
      explained(given([record, slices('10.64.0.1 here')], options), target, { from }).remarks.at(-1)
    test('it says so, and why not', () => {
      expect(remarkOf(web(), { traits })).toContain('connected to the endpoint itself')
      expect(remarkOf(web(nodePort), { traits }, 'node-port 30080', '203.0.113.7')).toBeUndefined()
      expect(remarkOf({ ...web(), sockets: { balancing: 'off' } }, { traits })).toContain('the Service wants it so')
      expect(remarkOf({ ...web(), traffic: { algorithm: 'maglev' } }, { traits })).toContain(
        'maglev goes by the address',
      )
      const hostOnly = { sockets: { ...sockets, clients: 'this node' } } as const
      expect(remarkOf(web(), { traits: hostOnly })).toContain('--ebpf-scope=host')
      const withoutTcp = { sockets: { ...sockets, protocols: ['UDP'] } } as const
      expect(remarkOf(web(), { traits: withoutTcp })).toContain('sockets of TCP are left alone')
    })
    test('connected datagram sockets may be left to packets, of pods or of all', () => {
      const except = '; but packets are translated for a UDP socket that the client has connected'
      const remark = (
        connectedUdp: 'nobody' | 'this node' | typeof everybody,
        from: string,
        protocol: Protocol = 'UDP',
      ) => {
        const service = { ...web(), ports: web().ports.map((port) => ({ ...port, protocol })) }
        const pods = slice('shop/web-1', 'web', ['10.64.0.1'], [{ name: 'http', port: 8080, protocol }])
        const world = given([service, pods], { traits: { sockets: { ...sockets, connectedUdp } } })
        return explained(world, `10.96.0.1:80/${protocol}`, { from }).remarks.at(-1)
      }
      expect(remark('this node', 'pod')).toContain(except)
      expect(remark('nobody', 'host')).toContain(except)
      expect(remark('this node', 'host')).not.toContain(except)
      expect(remark(everybody, 'pod')).not.toContain(except)
      expect(remark('nobody', 'pod', 'TCP')).not.toContain(except)
    })
    test('affinity is kept by nftables, but for node ports on loopback', () => {
      const sticky = { ...web(nodePort), affinitySeconds: 600 }
      const onLoopback = { traits: { ...traits, nodePortsOnLoopback: ['ipv4'] } } as const
      const left = 'nftables serves, and remembers which endpoint a client has'
      expect(remarkOf(sticky, { traits })).toContain(left)
      expect(remarkOf(sticky, { traits }, 'node-port 30080', 'host')).toContain(left)
      expect(remarkOf(sticky, onLoopback, '127.0.0.1:30080', 'host')).toContain('connected to the endpoint itself')
    })
  })
  test('limits are told, and packets count for them', () => {
    const service = { ...web(), traffic: { maxConnections: 10, maxDialsPerSecond: 5 } }
    const at = (options: Parameters<typeof given>[1]) =>
      explained(given([service, slices('10.64.0.1 here')], options), '10.96.0.1:80').remarks.join('; ')
    expect(at({})).toContain('at most 10 open connections of the port (fairlead.dev/max-connections)')
    expect(at({})).toContain('at most 5 connections of the port per second (fairlead.dev/max-dials-per-second)')
    const protocols = ['TCP'] as const
    const sockets = { clients: 'this node and its pods', protocols, connectedUdp: 'nobody', longestList: 2 } as const
    expect(at({ traits: { sockets } })).toContain('by whichever way they come')
  })
  test('a relay may tell the client in a header', () => {
    const traits = { source: 'the relay' } as const
    const header = { ...web(), relaying: { proxyProtocol: 'v2' } } as const
    expect(explained(given([header, slices('10.64.0.1')], { traits }), '10.96.0.1:80').sourceSeenWhy).toMatch(
      /PROXY protocol header \(v2\)/,
    )
  })
})

describe('source ranges', () => {
  const spec = { ...nodePort, type: 'LoadBalancer', loadBalancerSourceRanges: ['203.0.113.0/24'] }
  const world = given([web(spec, ['198.51.100.1']), slices('10.64.0.1')])
  test.each([
    ['203.0.113.7', true, 'forward'],
    ['198.18.0.1', false, 'drop'],
    ['10.64.0.7', false, 'drop'],
    ['outside', 'depends', 'forward'],
  ])('from %s', (from, isAllowed, kind) => {
    const explanation = explained(world, '198.51.100.1:80', { from })
    expect(explanation).toMatchObject({ sourceRanges: { isAllowed, isEnforced: true }, verdict: { kind } })
  })
  test('hold neither at the cluster IP nor at the node port', () => {
    for (const target of ['10.96.0.1:80', 'node-port 30080'])
      expect(explained(world, target, { from: '198.18.0.1' })).toMatchObject({ verdict: { kind: 'forward' } })
  })
})

describe('an address of nobody', () => {
  const objects = [
    web(nodePort),
    slices('10.64.0.1 here'),
    service('shop/api', { clusterIP: '10.96.0.9', ports: [{ port: 443 }] }),
  ]
  test.each([
    ['10.96.0.7:80', 'address of nobody'],
    ['10.96.0.1:81', 'no such port'],
    ['10.96.0.1/icmp', 'no such port'],
    ['10.64.0.1:8080', 'address of a pod'],
    ['192.0.2.11:30099', 'address of this node'],
    ['127.0.0.1:30080', 'not open here'],
    ['node-port 30099', 'address of nobody'],
  ])('%s: %s', (target, because) => {
    expect(explained(given(objects), target).verdict).toEqual({ kind: 'untouched', because })
  })

  test('names what is near', () => {
    expect(explained(given(objects), '10.96.0.7:80').near[0]).toBe('10.96.0.9:443/TCP is the cluster IP of shop/api')
    expect(explained(given(objects), '10.96.0.1:81').near).toEqual([
      '10.96.0.1:80/TCP is the cluster IP of shop/web:http',
    ])
    expect(explained(given(objects), 'node-port 30081').near).toEqual(['30080/TCP is a node port of shop/web:http'])
  })

  test('node ports are open where nodePortAddresses says', () => {
    const world = given(objects, { nodePortAddresses: ['192.0.2.11/32'] })
    expect(explained(world, '192.0.2.11:30080').verdict.kind).toBe('forward')
    expect(explained(world, '192.0.2.12:30080')).toMatchObject({
      verdict: { because: 'not open here' },
      remarks: ['node ports are not open on 192.0.2.12 in plain mode; they are open on 192.0.2.11/32'],
    })
  })

  test('an external IP that a gate hides', () => {
    const hidden = given([web({ externalIPs: ['198.51.100.9'] })], { policy: { allowExternalIPs: false } })
    expect(explained(hidden, '198.51.100.9:80')).toMatchObject({
      verdict: { because: 'not served' },
      remarks: [
        expect.stringContaining('external IP of shop/web, and the feature gate AllowServiceExternalIPs is off'),
      ],
    })
  })
})

test.each([
  [{}, [{ ip: '203.0.113.9', ipMode: 'Proxy' }], 'the status of the Service says ipMode Proxy'],
  [
    { annotations: { 'fairlead.dev/load-balancer-hairpin': 'through' } },
    [{ ip: '203.0.113.9' }],
    'the Service wants it so (fairlead.dev/load-balancer-hairpin: through)',
  ],
])('a load-balancer IP that is left to the load balancer is explained: %j', (metadata, ingress, why) => {
  const spec = { type: 'LoadBalancer', clusterIP: '10.96.0.1', ports: [{ port: 80 }] }
  const balanced = record('Service', rawService('shop/web', spec, { loadBalancer: { ingress } }, metadata))
  expect(explained(given([balanced, slices('10.64.0.1')]), '203.0.113.9:80', { from: 'pod' })).toMatchObject({
    verdict: { kind: 'untouched', because: 'not served' },
    remarks: [`it is a load-balancer IP of shop/web, and what is sent there goes to the load balancer: ${why}`],
  })
  expect(explained(given([balanced]), '203.0.113.9:81').verdict).toMatchObject({ because: 'address of nobody' })
})

describe('node ports on localhost', () => {
  const listeners = { ...given([]).traits, choice: 'each in turn', source: 'the relay', unsupported: ['SCTP'] } as const
  const node = { localhostListeners: listeners }
  const objects = [web(nodePort), slices('10.64.0.1')]

  test('are closed in a mode that does not have them', () => {
    expect(explained(given(objects), '127.0.0.1:30080').verdict).toMatchObject({ because: 'not open here' })
  })

  test('are told to be listened on, by whoever does, where the mode itself does not answer', () => {
    const nodePortAddresses = ['192.0.2.11/32']
    for (const traits of [node, { ...node, nodePortsOnLoopback: ['ipv4'] as const }])
      expect(explained(given(objects, { traits, nodePortAddresses }), '127.0.0.1:30080')).toMatchObject({
        source: { place: 'this node', isInside: true },
        verdict: { kind: 'forward' },
        choice: 'each in turn',
        remarks: ['Fairlead itself listens there, and relays (localhostNodePorts)'],
        answerers: [{ address: '10.64.0.1:8080', sourceSeen: 'node' }],
      })
  })

  test('are left to the mode where it answers, and closed at other loopback addresses', () => {
    const own = given(objects, { traits: { ...node, nodePortsOnLoopback: ['ipv4'] } })
    expect(explained(own, '127.0.0.1:30080')).toMatchObject({ choice: 'at random', remarks: [] })
    const elsewhere = explained(given(objects, { traits: node }), '127.0.0.2:30080')
    expect(elsewhere.verdict).toMatchObject({ because: 'not open here' })
  })
})

test('a Service that names the address of another is told', () => {
  const thief = service('shop/thief', { clusterIP: '10.96.0.2', ports: [{ port: 80 }], externalIPs: ['10.96.0.1'] })
  const world = given([web(), slices('10.64.0.1'), thief])
  expect(explained(world, '10.96.0.1:80').refused).toMatchObject([
    { service: 'shop/thief', claim: { kind: 'externalIP', takenAs: 'clusterIP', owner: 'shop/web' } },
  ])
  expect(explained(world, '10.96.0.2:80').notices).toMatchObject([{ reason: 'AddressInUse' }])
  expect(explained(world, '10.96.0.2:80').refused).toEqual([])
})

describe('questions about a Service', () => {
  const two = [
    { name: 'http', port: 80 },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ]
  const world = given([
    web({ ports: two }),
    service('other/api', { clusterIP: '10.96.0.9', ports: [{ port: 443 }] }),
    service('shop/headless', { clusterIP: 'None', ports: [{ port: 80 }] }),
    service('shop/name', { type: 'ExternalName', externalName: 'example.org' }),
  ])
  const message = (target: string, port = '') => {
    const answer = answerTo(world, target, { port })
    return answer.ok ? answer.explanations.map(({ destination }) => destination.port) : answer.message
  }
  test('are about every port, or one of them', () => {
    expect(message('service/web')).toEqual([80, 53])
    expect(message('service/web', 'dns')).toEqual([53])
    expect(message('service/web', '80')).toEqual([80])
  })
  test.each([
    ['service/wep', '', 'there is no Service "wep" in namespace "shop", did you mean web?'],
    ['service/api', '', 'there is no Service "api" in namespace "shop", but in other: choose it with -n'],
    ['service/nowhere/web', '', 'there is no Service "web" in namespace "nowhere", but in shop: choose it with -n'],
    ['service/web', 'grpc', 'Service shop/web has no port "grpc": it has http (80/TCP), dns (53/UDP)'],
    ['service/headless', '', /has no cluster IP: DNS gives its clients the addresses of the pods/],
    ['service/name', '', /is of type ExternalName/],
  ])('%s %s cannot be answered', (target, port, expected) => {
    expect(message(target, port)).toMatch(expected)
  })
})

test('nothing is explained before the lists are complete', () => {
  const world = { ...given([]), catalog: new Catalog() }
  const target = { kind: 'address', ip: '10.96.0.1', port: 80, protocol: 'TCP' } as const
  expect(explain({ target, from: { kind: 'outside' } }, world)).toMatchObject({ ok: false, kind: 'not ready' })
})

test('a mode that serves on loopback says so', () => {
  const world = given([web(nodePort), slices('10.64.0.1')], { traits: { servesAt: 'loopback' } })
  const remarks = ['Services are served on a loopback address of this machine only, not at 10.96.0.1:80']
  expect(explained(world, '10.96.0.1:80')).toMatchObject({ verdict: { because: 'not served' }, remarks })
  const answer = answerTo(world, 'service/web')
  expect(answer.ok && answer.explanations).toMatchObject([{ verdict: { kind: 'forward' }, remarks }])
})

test('a mode with an affinity timeout of its own says so', () => {
  const sticky = { ...web(), affinitySeconds: 600 }
  const world = given([sticky, slices('10.64.0.1', '10.64.0.2')], { traits: { keepsAffinityTimeout: false } })
  const explanation = explained(world, '10.96.0.1:80')
  expect(explanation.affinitySeconds).toBeUndefined()
  expect(explanation.remarks).toEqual([
    'the plain mode keeps a client with its endpoint for a time of its own, not for 600 s',
  ])
})

test('limits are told, and what becomes of those above them', () => {
  const record = { ...web(), traffic: { maxConnections: 5, maxDialsPerSecondPerEndpoint: 2 } }
  const remarksOf = (options: Given) =>
    explained(given([record, slices('10.64.0.1 here')], options), '10.96.0.1:80').remarks
  expect(remarksOf({})).toEqual([
    'this node has at most 5 open connections of the port (fairlead.dev/max-connections): more are refused, and counted',
    'this node opens at most 2 connections of the port per second to each endpoint (fairlead.dev/max-dials-per-second-per-endpoint): more are refused, and counted',
  ])
  expect(remarksOf({ traits: { source: 'the relay' } })[0]).toContain('more wait for up to 5 s, and are refused then')
})

test('how old a connection may become is told, as the mode does it', () => {
  const record = { ...web(nodePort), traffic: { maxConnectionAgeMs: 600_000 } }
  const remarks = (traits: Partial<ModeTraits>, target = '10.96.0.1:80', from?: string) =>
    explained(given([record, slices('10.64.0.1 here')], { traits }), target, from === undefined ? {} : { from }).remarks
  expect(remarks({ source: 'the relay' })).toContainEqual(
    expect.stringContaining('a connection of 600 s ends in the next quiet moment'),
  )
  expect(remarks({})).toContainEqual(expect.stringContaining('destroyed when the connection is about 600 s old'))
  expect(remarks({}, 'node-port 30080', '203.0.113.7')).toContainEqual(
    expect.stringContaining('nobody ends the connections of others'),
  )
})

test('affinity, health checks and the other ways in are told', () => {
  const spec = {
    ...nodePort,
    type: 'LoadBalancer',
    ...local,
    healthCheckNodePort: 32_000,
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
  }
  expect(explained(given([web(spec, ['198.51.100.1']), slices('10.64.0.1 here')]), '198.51.100.1:80')).toMatchObject({
    affinitySeconds: 600,
    healthCheck: { port: 32_000, localEndpoints: 1 },
    otherEntrances: [
      { kind: 'cluster-ip', ip: '10.96.0.1', port: 80 },
      { kind: 'node-port', port: 30_080 },
    ],
    withoutEndpoints: { verdict: 'reject', clientSees: 'refused at once', whileOthersHave: 'timeout' },
  })
})
