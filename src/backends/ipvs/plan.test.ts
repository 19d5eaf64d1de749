import { describe, expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import type { Route } from '../../core/route.ts'
import { nodeAddresses } from './node-addresses.ts'
import { planIpvs } from './plan.ts'
import { renderPlan } from './render.ts'
import type { IpvsSettings } from './settings.ts'

const settings: IpvsSettings = {
  family: 'ipv4',
  scheduler: 'rr',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  hasRandomFully: true,
  ...nodeAddresses(['127.0.0.1', '192.0.2.1', '192.0.2.2'], 'ipv4', []),
}
const here = testEndpoint('10.64.0.1', 8080, { isLocal: true })
const there = testEndpoint('10.64.1.1', 8080)

function render(part: string, route: Wishes, overrides: Partial<IpvsSettings> = {}): readonly string[] {
  const plan = planIpvs(testView(testRoute('shop/web', route)), { ...settings, ...overrides })
  return (
    renderPlan(plan)
      .find((it) => it.part === part)
      ?.text.split('\n') ?? []
  )
}

describe('virtual servers', () => {
  test('of a Service with affinity remember clients, on every address', () => {
    const servers = render('ipvsadm', { affinitySeconds: 10_800, externalIPs: ['198.51.100.1'], nodePort: 30_080 })
    expect(servers.filter((line) => line.startsWith('-A'))).toEqual([
      '-A -t 10.96.0.10:80 -s rr -p 10800',
      '-A -t 192.0.2.1:30080 -s rr -p 10800',
      '-A -t 192.0.2.2:30080 -s rr -p 10800',
      '-A -t 198.51.100.1:80 -s rr -p 10800',
    ])
  })

  test('spread by hash of address and port with mh, by address alone with sh', () => {
    expect(render('ipvsadm', {}, { scheduler: 'mh' })[0]).toBe('-A -t 10.96.0.10:80 -s mh -b mh-port')
    expect(render('ipvsadm', { affinitySeconds: 60 }, { scheduler: 'mh' })[0]).toBe(
      '-A -t 10.96.0.10:80 -s mh -p 60 -b mh-port',
    )
    expect(render('ipvsadm', {}, { scheduler: 'sh' })[0]).toBe('-A -t 10.96.0.10:80 -s sh')
  })

  test('with policy Local use endpoints elsewhere only when there is none here', () => {
    const ends = (localEndpoints: Route['localEndpoints']) =>
      render('ipvsadm', {
        externalIPs: ['198.51.100.1'],
        externalPolicy: 'Local',
        endpoints: [here, there],
        localEndpoints,
      }).filter((line) => line.startsWith('-a -t 198.51.100.1'))
    expect(ends([here])).toEqual(['-a -t 198.51.100.1:80 -r 10.64.0.1:8080 -m -w 1'])
    expect(ends([])).toHaveLength(2)
  })

  test('of an address that is listed twice exist once', () => {
    const twice = { externalIPs: ['198.51.100.1'], loadBalancerIPs: ['198.51.100.1'] }
    expect(render('ipvsadm', twice).filter((line) => line.includes('198.51.100.1'))).toHaveLength(1)
  })
})

describe('set entries', () => {
  const added = (route: Wishes, overrides: Partial<IpvsSettings> = {}) =>
    render('ipset', route, overrides)
      .filter((line) => line.startsWith('add '))
      .map((line) => line.slice(4))

  test('for hairpin traffic name every endpoint of this node, ready or not', () => {
    const gone = testEndpoint('10.64.0.2', 8080, { isLocal: true, ready: false, serving: false, terminating: true })
    expect(added({ endpoints: [here, gone, there] }).filter((line) => line.includes('LOOP-BACK'))).toEqual([
      'KUBE-LOOP-BACK 10.64.0.1,tcp:8080,10.64.0.1',
      'KUBE-LOOP-BACK 10.64.0.2,tcp:8080,10.64.0.2',
    ])
  })

  test('of an SCTP node port are one for each address of the node', () => {
    expect(added({ protocol: 'SCTP', nodePort: 30_009, externalPolicy: 'Local' })).toEqual([
      'KUBE-CLUSTER-IP 10.96.0.10,sctp:80',
      'KUBE-NODE-PORT-SCTP-HASH 192.0.2.1,sctp:30009',
      'KUBE-NODE-PORT-SCTP-HASH 192.0.2.2,sctp:30009',
      'KUBE-NODE-PORT-LOCAL-SCTP-HASH 192.0.2.1,sctp:30009',
      'KUBE-NODE-PORT-LOCAL-SCTP-HASH 192.0.2.2,sctp:30009',
      'KUBE-IPVS-IPS 10.96.0.10',
    ])
  })

  test('without an address for node ports leave out the port, but not the one for health checks', () => {
    const route = { nodePort: 30_080, healthCheckNodePort: 32_000 }
    expect(added(route, { nodePortIps: [] }).filter((line) => line.includes('NODE-PORT'))).toEqual([
      'KUBE-HEALTH-CHECK-NODE-PORT 32000',
    ])
  })

  test('allow the node when the source ranges do, and else a rule stops it', () => {
    const ranges = { loadBalancerIPs: ['198.51.100.1'], sourceRanges: ['192.0.2.0/24'] }
    const covering = { ...ranges, sourceRangesCoverNode: true }
    expect(added(covering)).toContain('KUBE-LOAD-BALANCER-SOURCE-IP 198.51.100.1,tcp:80,198.51.100.1')
    expect(render('iptables', covering).filter((line) => line.includes('-m ipvs'))).toEqual([])
    expect(added(ranges).filter((line) => line.includes('SOURCE-IP'))).toEqual([])
    expect(render('iptables', ranges).filter((line) => line.includes('-m ipvs'))).toEqual([
      '-A KUBE-IPVS-OUT-FILTER -s 198.51.100.1 -m ipvs --vaddr 198.51.100.1 --vproto tcp --vport 80 -j DROP',
    ])
  })
})

describe('what is masqueraded on the way to a cluster IP', () => {
  const start =
    '-A KUBE-SERVICES -m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP '
  test.each([
    ['everything', { masqueradeAll: true }, ['dst,dst']],
    ['what is not from pods', {}, ['dst,dst ! -s 10.64.0.0/10']],
    ['what is not from a bridge', { localTraffic: { kind: 'interface', name: 'br0' } }, ['dst,dst ! -i br0']],
    [
      'what is not from links of pods',
      { localTraffic: { kind: 'interface-prefix', prefix: 'veth' } },
      ['dst,dst ! -i veth+'],
    ],
    ['what the node itself sends, when pods cannot be told', { localTraffic: { kind: 'none' } }, ['src,dst']],
    ['nothing, when all addresses are those of pods', { localTraffic: { kind: 'cidr', cidr: '0.0.0.0/0' } }, []],
  ] as const)('%s', (_, overrides, expected) => {
    const rules = render('iptables', {}, overrides).filter((line) => line.startsWith(start))
    expect(rules).toEqual(expected.map((match) => `${start}${match} -j KUBE-MARK-MASQ`))
  })

  test('is masqueraded with fully random ports where iptables can', () => {
    const count = (hasRandomFully: boolean) =>
      render('iptables', { endpoints: [here] }, { hasRandomFully }).filter((line) => line.includes('--random-fully'))
        .length
    expect([count(true), count(false)]).toEqual([1, 0])
  })
})
