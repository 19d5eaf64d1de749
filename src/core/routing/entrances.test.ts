import { expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../testing/routes.ts'

const here = testEndpoint('10.0.0.1', 8080, { isLocal: true })
const there = testEndpoint('10.0.0.2', 8080)

const outside = {
  externalIPs: ['192.0.2.10'],
  loadBalancerIPs: ['192.0.2.20', '192.0.2.21'],
  nodePort: 30_080,
}

test('a Service without anything for the outside has its cluster IP', () => {
  const { entrances, external } = testRoute('demo/web', { clusterIP: '10.96.0.7', port: 443 })
  expect(entrances).toMatchObject([{ kind: 'cluster-ip', ip: '10.96.0.7', port: 443, allowed: undefined }])
  expect(external).toBeUndefined()
})

test('the others follow in the order in which a data plane looks at them', () => {
  const { entrances } = testRoute('demo/web', outside)
  expect(entrances.map((entrance) => [entrance.kind, 'ip' in entrance ? entrance.ip : '', entrance.port])).toEqual([
    ['cluster-ip', '10.96.0.10', 80],
    ['external-ip', '192.0.2.10', 80],
    ['load-balancer-ip', '192.0.2.20', 80],
    ['load-balancer-ip', '192.0.2.21', 80],
    ['node-port', '', 30_080],
  ])
})

test('each treats its clients as the Route says', () => {
  const route = testRoute('demo/web', { ...outside, endpoints: [here, there], externalPolicy: 'Local' })
  const [clusterIp, ...others] = route.entrances
  expect(clusterIp).toMatchObject(route.internal)
  expect(others).toHaveLength(4)
  for (const entrance of others) expect(entrance).toMatchObject(route.external ?? {})
})

test('source ranges guard the load-balancer IPs and nothing else', () => {
  const { entrances } = testRoute('demo/web', { ...outside, sourceRanges: ['10.1.0.0/16'] })
  expect(entrances.map(({ kind, allowed }) => [kind, allowed])).toEqual([
    ['cluster-ip', undefined],
    ['external-ip', undefined],
    ['load-balancer-ip', { ranges: ['10.1.0.0/16'], ownAddresses: [] }],
    ['load-balancer-ip', { ranges: ['10.1.0.0/16'], ownAddresses: [] }],
    ['node-port', undefined],
  ])
})

test('they guard an address of the load balancer also where the Service names it as an external IP', () => {
  const { entrances } = testRoute('demo/web', {
    externalIPs: ['192.0.2.20', '192.0.2.10'],
    loadBalancerIPs: ['192.0.2.20'],
    sourceRanges: ['10.1.0.0/16'],
  })
  const guarded = { ranges: ['10.1.0.0/16'], ownAddresses: [] }
  expect(entrances.map(({ kind, allowed }) => [kind, allowed])).toEqual([
    ['cluster-ip', undefined],
    ['external-ip', guarded],
    ['external-ip', undefined],
    ['load-balancer-ip', guarded],
  ])
})

test('a node inside the ranges may come from the addresses of the load balancer', () => {
  const route = testRoute('demo/web', { ...outside, sourceRanges: ['10.1.0.0/16'], sourceRangesCoverNode: true })
  expect(route.entrances[2]?.allowed).toEqual({
    ranges: ['10.1.0.0/16'],
    ownAddresses: ['192.0.2.20', '192.0.2.21'],
  })
})

test('policy Cluster sends everybody everywhere, and hides clients from outside behind the node', () => {
  const { internal, external } = testRoute('demo/web', { ...outside, endpoints: [here, there] })
  const everywhere = { kind: 'forward', policy: 'Cluster', to: [here, there] }
  expect(internal).toEqual({ inside: everywhere, outside: everywhere, keepsSourceOf: 'pods' })
  expect(external).toEqual({ inside: everywhere, outside: everywhere, keepsSourceOf: 'nobody' })
})

test('external policy Local keeps traffic from outside on the node; pods and the node itself may use all', () => {
  const { external } = testRoute('demo/web', { ...outside, endpoints: [here, there], externalPolicy: 'Local' })
  expect(external).toEqual({
    inside: { kind: 'forward', policy: 'Cluster', to: [here, there] },
    outside: { kind: 'forward', policy: 'Local', to: [here] },
    keepsSourceOf: 'all-but-node',
  })
})

test('internal policy Local holds for everybody', () => {
  const { internal } = testRoute('demo/web', { endpoints: [here, there], internalPolicy: 'Local' })
  const onThisNode = { kind: 'forward', policy: 'Local', to: [here] }
  expect(internal).toMatchObject({ inside: onThisNode, outside: onThisNode })
})

test('what others could serve is dropped, so that it is sent again', () => {
  const { internal, external } = testRoute('demo/web', {
    ...outside,
    endpoints: [there],
    internalPolicy: 'Local',
    externalPolicy: 'Local',
  })
  expect(internal.inside).toEqual({ kind: 'drop', policy: 'Local' })
  expect(external?.outside).toEqual({ kind: 'drop', policy: 'Local' })
  expect(external?.inside).toEqual({ kind: 'forward', policy: 'Cluster', to: [there] })
})

test('what nobody can serve is rejected, whatever the policy', () => {
  const { internal, external } = testRoute('demo/web', { ...outside, externalPolicy: 'Local' })
  expect(internal.outside).toEqual({ kind: 'reject', policy: 'Cluster' })
  expect(external?.inside).toEqual({ kind: 'reject', policy: 'Cluster' })
  expect(external?.outside).toEqual({ kind: 'reject', policy: 'Local' })
})
