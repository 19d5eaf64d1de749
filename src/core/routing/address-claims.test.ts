import { describe, expect, test } from 'vitest'
import type { ServiceRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { AddressClaims } from './address-claims.ts'
import { rawService, record } from '../testing/objects.ts'

const nodeIP = '10.200.0.2'

/** The claims of Services that came in this order. */
function claimsOf(services: readonly ServiceRecord[], apiServers: { ip: string; port: number }[] = []) {
  const known = new Map<ReturnType<typeof objectKey>, ServiceRecord>()
  const claims = new AddressClaims({
    family: 'ipv4',
    services: known,
    nodeIPs: () => [nodeIP],
    apiServers,
    portRanges: true,
    allowExternalIPs: true,
    guard: { objectionTo: () => undefined, refuses: () => false, minds: () => false, modeBy: () => 'flags' },
  })
  for (const service of services) {
    known.set(objectKey(service), service)
    claims.replace(objectKey(service), undefined, service)
  }
  return {
    claims,
    refused: Object.fromEntries(
      services.flatMap((service) =>
        claims
          .judge(objectKey(service))
          .refused.map((claim) => [
            `${objectKey(service)} ${claim.kind} ${claim.ip ?? ''} ${claim.port}/${claim.protocol}`,
            `${claim.takenAs} of ${'owner' in claim ? claim.owner : 'nobody'}`,
          ]),
      ),
    ),
  }
}

interface Wish {
  readonly clusterIP: string
  readonly port?: number
  readonly protocol?: string
  readonly nodePort?: number
  readonly external?: readonly string[]
  readonly balancer?: readonly string[]
  readonly created?: string
}

function service(id: string, wish: Wish): ServiceRecord {
  const { clusterIP, port = 80, protocol = 'TCP', nodePort = 0, external = [], balancer = [], created } = wish
  return record(
    'Service',
    rawService(
      id,
      { clusterIP, ports: [{ port, protocol, nodePort }], externalIPs: external },
      { loadBalancer: { ingress: balancer.map((ip) => ({ ip })) } },
      { creationTimestamp: created },
    ),
  )
}

const kubernetes = service('default/kubernetes', { clusterIP: '10.96.0.1', port: 443 })
const dns = service('kube-system/kube-dns', { clusterIP: '10.96.0.10', port: 53, protocol: 'UDP' })

describe('whoever comes first, the cluster IP stays with its Service', () => {
  const hijackers = [
    service('a/first-by-name', {
      clusterIP: '10.96.7.1',
      port: 443,
      external: ['10.96.0.1'],
      created: '2020-01-01T00:00:00Z',
    }),
    service('zz/balanced', { clusterIP: '10.96.7.2', port: 443, balancer: ['10.96.0.1'] }),
    service('zz/dns', { clusterIP: '10.96.7.3', port: 53, protocol: 'UDP', external: ['10.96.0.10'] }),
    // DNS has no such port, but clients may well try it.
    service('zz/dns-tcp', { clusterIP: '10.96.7.4', port: 53, external: ['10.96.0.10'] }),
  ]
  const expected = {
    'a/first-by-name externalIP 10.96.0.1 443/TCP': 'clusterIP of default/kubernetes',
    'zz/balanced loadBalancerIP 10.96.0.1 443/TCP': 'clusterIP of default/kubernetes',
    'zz/dns externalIP 10.96.0.10 53/UDP': 'clusterIP of kube-system/kube-dns',
    'zz/dns-tcp externalIP 10.96.0.10 53/TCP': 'clusterIP of kube-system/kube-dns',
  }

  test.each([
    ['the owners', [kubernetes, dns, ...hijackers]],
    ['the hijackers', [...hijackers, kubernetes, dns]],
  ])('%s first', (_, services) => {
    expect(claimsOf(services).refused).toEqual(expected)
  })

  test('the hijacker is told of when the owner comes later, and when it goes', () => {
    const [hijacker] = hijackers
    if (hijacker === undefined) throw new Error('no hijacker')
    const { claims } = claimsOf([hijacker])
    expect(claims.judge(objectKey(hijacker)).refused).toEqual([])
    expect([...claims.replace(objectKey(kubernetes), undefined, kubernetes)]).toEqual([objectKey(hijacker)])
    expect(claims.judge(objectKey(hijacker)).refused).toHaveLength(1)
    expect([...claims.replace(objectKey(kubernetes), kubernetes, undefined)]).toEqual([objectKey(hijacker)])
    expect(claims.judge(objectKey(hijacker)).refused).toEqual([])
  })
})

describe('of other addresses', () => {
  const ip = '192.0.2.1'

  test('a load-balancer IP comes before an external IP', () => {
    const external = service('a/external', { clusterIP: '10.96.7.1', external: [ip], created: '2020-01-01T00:00:00Z' })
    const balanced = service('b/balanced', { clusterIP: '10.96.7.2', balancer: [ip] })
    const refused = { [`a/external externalIP ${ip} 80/TCP`]: 'loadBalancerIP of b/balanced' }
    expect(claimsOf([external, balanced]).refused).toEqual(refused)
    expect(claimsOf([balanced, external]).refused).toEqual(refused)
  })

  test('the older Service has it, then the name decides', () => {
    const young = service('a/young', { clusterIP: '10.96.7.1', external: [ip], created: '2026-01-02T00:00:00Z' })
    const old = service('b/old', { clusterIP: '10.96.7.2', external: [ip], created: '2026-01-01T00:00:00Z' })
    const unknown = service('a/of-a-file', { clusterIP: '10.96.7.3', external: [ip] })
    const unknownToo = service('b/of-a-file', { clusterIP: '10.96.7.4', external: [ip] })
    expect(claimsOf([young, old]).refused).toEqual({ [`a/young externalIP ${ip} 80/TCP`]: 'externalIP of b/old' })
    expect(claimsOf([unknown, young]).refused).toEqual({
      [`a/of-a-file externalIP ${ip} 80/TCP`]: 'externalIP of a/young',
    })
    expect(claimsOf([unknownToo, unknown]).refused).toEqual({
      [`b/of-a-file externalIP ${ip} 80/TCP`]: 'externalIP of a/of-a-file',
    })
  })

  test('the next one has it when the first one goes, and not before', () => {
    const [first, second, third] = ['a', 'b', 'c'].map((name, index) =>
      service(`shop/${name}`, { clusterIP: `10.96.7.${index}`, external: [ip] }),
    ) as [ServiceRecord, ServiceRecord, ServiceRecord]
    const { claims } = claimsOf([third, second, first])
    const owners = () =>
      [second, third].map((it) => {
        const [claim] = claims.judge(objectKey(it)).refused
        return claim !== undefined && 'owner' in claim ? claim.owner : undefined
      })
    expect(owners()).toEqual(['shop/a', 'shop/a'])
    claims.replace(objectKey(first), first, undefined)
    expect(owners()).toEqual([undefined, 'shop/b'])
    claims.replace(objectKey(first), undefined, first)
    expect(owners()).toEqual(['shop/a', 'shop/a'])
  })

  test('Services may share one as long as their ports differ', () => {
    const web = service('a/web', { clusterIP: '10.96.7.1', balancer: [ip] })
    const secure = service('a/secure', { clusterIP: '10.96.7.2', port: 443, balancer: [ip] })
    const quic = service('a/quic', { clusterIP: '10.96.7.3', port: 443, protocol: 'UDP', balancer: [ip] })
    expect(claimsOf([web, secure, quic]).refused).toEqual({})
  })

  test('a Service may name its own addresses as often as it likes', () => {
    const web = service('a/web', { clusterIP: '10.96.7.1', balancer: [ip], external: [ip, '10.96.7.1'] })
    expect(claimsOf([web]).refused).toEqual({})
  })

  test("a node port comes before an external IP that is the node's address, on that port alone", () => {
    const open = service('b/open', { clusterIP: '10.96.7.1', nodePort: 30_080 })
    const thief = service('a/thief', { clusterIP: '10.96.7.2', port: 30_080, external: [nodeIP] })
    const fair = service('a/fair', { clusterIP: '10.96.7.3', port: 80, external: [nodeIP] })
    const refused = { [`a/thief externalIP ${nodeIP} 30080/TCP`]: 'nodePort of b/open' }
    expect(claimsOf([thief, fair, open]).refused).toEqual(refused)
    const { claims } = claimsOf([thief, fair])
    expect([...claims.replace(objectKey(open), undefined, open)]).toEqual([objectKey(thief)])
  })

  test("a node port is at the node's address alone", () => {
    const open = service('b/open', { clusterIP: '10.96.7.1', nodePort: 30_080 })
    const fair = service('a/fair', { clusterIP: '10.96.7.2', port: 30_080, external: [ip] })
    expect(claimsOf([open, fair]).refused).toEqual({})
  })

  test('those of the other family do not matter, and neither do Services that have none of this one', () => {
    const web = service('b/web', { clusterIP: '10.96.7.1', external: [ip, 'fd00::9'] })
    const too = service('c/too', { clusterIP: '10.96.7.2', external: ['fd00::9'] })
    const six = service('a/six', { clusterIP: 'fd00::1', external: [ip], created: '2020-01-01T00:00:00Z' })
    expect(claimsOf([six, web, too]).refused).toEqual({})
  })

  test('nothing is refused to a Service that is not there', () => {
    expect(claimsOf([]).claims.judge(objectKey(dns)).refused).toEqual([])
  })

  test('a node port is had once', () => {
    const one = service('a/one', { clusterIP: '10.96.7.1', nodePort: 30_080 })
    const other = service('a/two', { clusterIP: '10.96.7.2', nodePort: 30_080 })
    const udp = service('a/udp', { clusterIP: '10.96.7.3', nodePort: 30_080, protocol: 'UDP' })
    expect(claimsOf([other, one, udp]).refused).toEqual({ 'a/two nodePort  30080/TCP': 'nodePort of a/one' })
  })

  test('two Services with the same cluster IP, as files may have, share it unless they share a port', () => {
    const one = service('a/one', { clusterIP: '10.96.7.1' })
    const two = service('a/two', { clusterIP: '10.96.7.1' })
    const three = service('a/three', { clusterIP: '10.96.7.1', port: 443 })
    expect(claimsOf([two, three, one]).refused).toEqual({ 'a/two clusterIP 10.96.7.1 80/TCP': 'clusterIP of a/one' })
    const udp = service('a/udp', { clusterIP: '10.96.7.1', protocol: 'UDP' })
    const namesItself = service('a/vain', { clusterIP: '10.96.7.1', port: 8080, external: ['10.96.7.1'] })
    expect(claimsOf([one, udp, namesItself]).refused).toEqual({})
    const many = { ...one, ports: [...three.ports, ...one.ports] }
    expect(claimsOf([two, many]).refused).toEqual({ 'a/two clusterIP 10.96.7.1 80/TCP': 'clusterIP of a/one' })
  })
})

describe('a Service that changes concerns others', () => {
  const ip = '192.0.2.1'
  const web = service('b/web', { clusterIP: '10.96.7.1' })
  const rival = service('a/rival', { clusterIP: '10.96.7.2', external: [ip] })
  const concerned = (current: ServiceRecord) => [...claimsOf([web, rival]).claims.replace(objectKey(web), web, current)]

  test('when it names an address that they name', () => {
    expect(concerned({ ...web, externalIPs: [ip] })).toEqual([objectKey(rival)])
  })

  test('not when it stays with its addresses', () => {
    expect(concerned({ ...web, affinitySeconds: 5 })).toEqual([])
    expect(concerned({ ...web, externalIPs: ['192.0.2.2'] })).toEqual([])
    const both = [web, { ...rival, externalIPs: [] }]
    expect([...claimsOf(both).claims.replace(objectKey(web), web, undefined)]).toEqual([])
    const shared = [{ ...web, externalIPs: [ip] }, rival] as const
    const { claims } = claimsOf(shared)
    expect([...claims.replace(objectKey(web), shared[0], { ...shared[0], affinitySeconds: 5 })]).toEqual([])
  })
})

test("the API server's address that Fairlead uses is for default/kubernetes alone, whatever names it", () => {
  const apiServers = [
    { ip: '192.0.2.9', port: 6443 },
    { ip: nodeIP, port: 6443 },
    { ip: '10.96.0.1', port: 443 },
  ]
  const refused = 'apiServer of default/kubernetes'
  const services = [
    kubernetes,
    service('a/external', { clusterIP: '10.96.7.1', port: 6443, external: ['192.0.2.9'] }),
    service('a/balanced', { clusterIP: '10.96.7.2', port: 6443, balancer: ['192.0.2.9'] }),
    service('a/node-port', { clusterIP: '10.96.7.3', nodePort: 6443 }),
    service('a/cluster', { clusterIP: '192.0.2.9', port: 6443 }),
    service('a/beside', { clusterIP: '10.96.7.5', port: 443, external: [nodeIP] }),
    service('a/udp', { clusterIP: '10.96.7.6', port: 6443, protocol: 'UDP', external: [nodeIP] }),
  ]
  expect(
    claimsOf(
      services.filter(({ name }) => name !== 'cluster'),
      apiServers,
    ).refused,
  ).toEqual({
    'a/external externalIP 192.0.2.9 6443/TCP': refused,
    'a/balanced loadBalancerIP 192.0.2.9 6443/TCP': refused,
    'a/node-port nodePort  6443/TCP': refused,
  })
  expect(claimsOf(services, apiServers).refused).toMatchObject({ 'a/cluster clusterIP 192.0.2.9 6443/TCP': refused })
})
