import { describe, expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import type { GuardedAddress, RefusedClaim, TakenClaim } from './address-claims.ts'
import { whyText } from './claim-texts.ts'
import type { RouterContext } from './router.ts'
import { noticesAbout } from './service-notices.ts'
import { usualPolicy } from './serving-policy.ts'
import { service, slice } from '../testing/objects.ts'

const nodeIP = '10.200.0.2'
const context: RouterContext = { family: 'ipv4', nodeName: 'here', zone: '', nodeIP, policy: usualPolicy }
const spec = { clusterIP: '10.96.0.1', ports: [{ port: 80 }] }
const balancer = (...ips: string[]) => ({ loadBalancer: { ingress: ips.map((ip) => ({ ip })) } })

function reasons(...[about, slices, at = context, refused = []]: Partial<Parameters<typeof noticesAbout>>) {
  return noticesAbout(about ?? service('demo/web', spec), slices ?? [], at, refused).map(({ reason }) => reason)
}

test('nothing is said about a Service that is served as it wishes', () => {
  const web = service('demo/web', { ...spec, externalIPs: ['192.0.2.1'] }, balancer('192.0.2.2'))
  expect(noticesAbout(web, [slice('demo/web-1', 'web', ['10.0.0.1'])], context, [])).toEqual([])
})

test('nothing is said about a Service that has no address of the family, or no ports', () => {
  const ranges = { loadBalancerSourceRanges: ['fd00::/64'] }
  const six = service('demo/six', { ...spec, ...ranges, clusterIP: 'fd00::1' }, balancer('192.0.2.2'))
  expect(reasons(six)).toEqual([])
  const odd = service('demo/odd', { ...spec, clusterIP: '127.0.0.5' })
  expect(reasons(odd)).toEqual(['LoopbackAddress'])
  expect(reasons({ ...odd, ports: [] })).toEqual([])
})

describe('what was refused is named,', () => {
  const owner = 'demo/owner' as ObjectKey
  const web = service('demo/web', spec)
  const told = (claim: RefusedClaim) => noticesAbout(web, [], context, [claim])

  test('with the Service that has it', () => {
    const claim = { kind: 'externalIP', protocol: 'TCP', port: 80, takenAs: 'loadBalancerIP', owner } as const
    expect(told({ ...claim, ip: 'fd00::9' })).toEqual([
      {
        reason: 'AddressInUse',
        text: 'external IP [fd00::9]:80/TCP is not served: it is a load-balancer IP of demo/owner',
        owner,
      },
    ])
  })

  test('a node port without an address', () => {
    const [notice] = told({ kind: 'nodePort', protocol: 'UDP', port: 30_080, takenAs: 'nodePort', owner })
    expect(notice?.text).toBe('node port 30080/UDP is not served: it is a node port of demo/owner')
    expect(whyText({ takenAs: 'externalIP', owner })).toBe('it is an external IP of demo/owner')
  })

  test('as the place of the API server', () => {
    expect(
      told({ kind: 'externalIP', protocol: 'TCP', ip: '192.0.2.9', port: 6443, takenAs: 'apiServer', owner }),
    ).toEqual([
      {
        reason: 'ApiServerAddress',
        text: 'external IP 192.0.2.9:6443/TCP is not served: Fairlead reaches the API server there',
        owner,
      },
    ])
  })
})

describe('a loopback address is told', () => {
  const onLoopback = { ...context, policy: { ...usualPolicy, allowLoopback: true } }
  const odd = service('demo/odd', { ...spec, clusterIP: '127.0.0.5' })
  const endpoint = slice('demo/web-1', 'web', ['10.0.0.1', '127.0.0.1'])

  test('of the Service and of an endpoint', () => {
    expect(noticesAbout(odd, [], context, [])).toEqual([
      { reason: 'LoopbackAddress', text: 'cluster IP 127.0.0.5 is not served: it is a loopback address' },
    ])
    expect(noticesAbout(service('demo/web', spec), [endpoint], context, [])).toEqual([
      { reason: 'LoopbackAddress', text: 'endpoint 127.0.0.1 of web-1 is not used: it is a loopback address' },
    ])
  })

  test('not of endpoints of the other family, nor where it is allowed', () => {
    expect(reasons(undefined, [{ ...endpoint, family: 'ipv6' }])).toEqual([])
    expect(reasons(odd, [], onLoopback)).toEqual([])
    expect(reasons(undefined, [endpoint], onLoopback)).toEqual([])
  })
})

describe('an address of this node is told', () => {
  const ports = [
    { name: 'a', port: 80 },
    { name: 'b', port: 81 },
    { name: 'c', port: 80, protocol: 'UDP' },
  ]
  const web = service('demo/web', { ...spec, ports, externalIPs: [nodeIP] })
  const claim = { kind: 'externalIP', protocol: 'TCP', ip: nodeIP, port: 80, takenAs: 'nodePort' } as const
  const objection = { takenAs: 'node', node: 'here' } as const
  const guarded: GuardedAddress = { kind: 'externalIP', ip: nodeIP, objection, isRefused: false, by: 'flags' }
  const refused = (...claims: Partial<TakenClaim>[]) =>
    claims.map((it): TakenClaim => ({ ...claim, owner: 'demo/owner' as ObjectKey, ...it }))
  const text = (...claims: Partial<TakenClaim>[]) =>
    noticesAbout(web, [], context, refused(...claims), [guarded]).find(({ reason }) => reason === 'NodeAddress')?.text

  test('with the ports that the Service gets there', () => {
    const about = (names: string) =>
      `external IP ${nodeIP} is an address of this node: what the node itself runs on ${names} cannot be reached there`
    expect(text()).toBe(about('80/TCP, 81/TCP, 80/UDP'))
    expect(text({})).toBe(about('81/TCP, 80/UDP'))
    expect(text({ port: 81 }, { ip: '192.0.2.1' })).toBe(about('80/TCP, 80/UDP'))
    expect(text({ protocol: 'UDP' })).toBe(about('80/TCP, 81/TCP'))
  })

  test('not when the Service gets none of them', () => {
    expect(text({}, { port: 81 }, { protocol: 'UDP' })).toBeUndefined()
  })
})

describe('source ranges of the other family alone are told', () => {
  const ranged = (...ips: string[]) =>
    service('demo/web', { ...spec, loadBalancerSourceRanges: ['fd00::/64'] }, balancer(...ips))

  test('if there is a load-balancer IP of this one', () => {
    expect(reasons(ranged('192.0.2.2', 'fd00::2'))).toEqual(['SourceRangesOfOtherFamily'])
  })

  test('not if there is none', () => {
    expect(reasons(ranged())).toEqual([])
    expect(reasons(ranged('fd00::2'))).toEqual([])
  })
})

test('a wish that the mode cannot fulfil is told, also of a Service without addresses of its own', () => {
  const abilities = {
    mode: 'plain',
    algorithms: [],
    algorithmsWithAffinity: [],
    weights: false,
    limits: [],
    portRanges: false,
  } as const
  const at = { ...context, policy: { ...usualPolicy, abilities } }
  const web = { ...service('demo/web', spec), traffic: { algorithm: 'maglev' } } as const
  expect(noticesAbout(web, [], at, [])).toEqual([
    { reason: 'UnsupportedAnnotation', text: 'fairlead.dev/algorithm: maglev is ignored: the plain mode cannot do it' },
  ])
  expect(reasons(web)).toEqual([])
})

test('weights of an EndpointSlice that the mode ignores are said, with its name', () => {
  const web = service('demo/web', spec)
  const weighing = (weight: number) => ({
    ...slice('demo/web-1', 'web', ['10.0.0.1']),
    weights: [{ of: 'every', name: '', weight }] as const,
  })
  const poor = {
    ...context,
    policy: { ...usualPolicy, abilities: { ...usualPolicy.abilities, mode: 'poor', weights: false } },
  }
  expect(noticesAbout(web, [weighing(5)], context, [])).toEqual([])
  expect(noticesAbout(web, [weighing(0), weighing(1)], poor, [])).toEqual([])
  const notice = {
    reason: 'UnsupportedAnnotation',
    text: 'fairlead.dev/weights of EndpointSlice web-1: weights other than 0 are ignored: the poor mode cannot do it',
  }
  expect(noticesAbout(web, [weighing(0), weighing(5), weighing(6)], poor, [])).toEqual([notice])
  expect(noticesAbout({ ...web, externalIPs: ['192.0.2.1'] }, [weighing(5)], poor, [])).toEqual([notice])
  expect(noticesAbout(web, [{ ...weighing(5), family: 'ipv6' }], poor, [])).toEqual([])
})
