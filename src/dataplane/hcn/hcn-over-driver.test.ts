import { expect, test } from 'vitest'
import { testBalancer } from './testing/load-balancers.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { LoadBalancerSettings } from './hcn.ts'
import { hcnOverDriver } from './hcn-over-driver.ts'
import { hresult } from './hresult.ts'
import type { HnsOptions } from './memory/hns-options.ts'
import { MemoryDriver } from './memory/memory-driver.ts'
import { MemoryHns } from './memory/memory-hns.ts'

const { signal } = new AbortController()

function machine(options: HnsOptions = { profile: '2025', idCase: 'now this, now that', unknownFilter: 'is refused' }) {
  const hns = new MemoryHns(options)
  const network = hns.putNetwork({ name: 'pod-net', subnets: ['10.61.1.0/24'] })
  const pod = hns.putEndpoint(network, { ips: ['10.61.1.5', '2001:DB8:61::5'], name: 'pod' })
  const driver = new MemoryDriver(hns)
  return { hns, network, pod, driver, hcn: hcnOverDriver(driver, { timeLimitMs: 10_000 }) }
}

const operationsOf = (driver: MemoryDriver) => driver.takeJournal().map(({ operation }) => operation)

const remote = { ip: '10.61.2.7', mac: '02-11-0a-3d-02-07', isRemote: true, providerAddress: undefined }

function balancerTo(...endpoints: readonly string[]): LoadBalancerSettings {
  return testBalancer({ endpoints, isSticky: true, mappingFlags: 16, flags: 1 })
}

test('the list of all load balancers may take longer than other calls, but not for ever', async () => {
  const clock = new FakeClock()
  const after = async (ms: number) => {
    const driver = new MemoryDriver(new MemoryHns(), { clock, delayMs: ms })
    const hcn = hcnOverDriver(driver, { clock, timeLimitMs: 30_000 })
    const outcome = Promise.allSettled([hcn.loadBalancerSummaries(signal)])
    await clock.advance(ms + 1)
    const other = Promise.allSettled([hcn.endpointIds('5a3d0000-0000-4000-8000-00000000000a', signal)])
    await clock.advance(ms + 1)
    return [...(await outcome), ...(await other)].map(({ status }) => status)
  }
  expect(await after(20_000)).toEqual(['fulfilled', 'fulfilled'])
  expect(await after(119_000)).toEqual(['fulfilled', 'rejected'])
  expect(await after(121_000)).toEqual(['rejected', 'rejected'])
})

test('reads the version of HNS', async () => {
  const { hcn } = machine()
  expect(await hcn.version(signal)).toEqual({ major: 15, minor: 5 })
})

test('finds networks and endpoints by name, with a filter', async () => {
  const { hcn, driver, network, pod } = machine()
  expect(await hcn.networkNamed('pod-net', signal)).toMatchObject({ id: network, type: 'L2Bridge' })
  expect(driver.takeJournal()[0]).toEqual({
    operation: 'enumerateNetworks',
    args: [String.raw`{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"Name\":\"pod-net\"}"}`],
  })
  expect(await hcn.endpointNamed('pod', signal)).toMatchObject({ id: pod, ips: ['10.61.1.5', '2001:db8:61::5'] })
  expect(await hcn.networkNamed('other', signal)).toBeUndefined()
  expect(await hcn.endpointNamed('other', signal)).toBeUndefined()
})

test('never asks for an empty name or network', async () => {
  const { hcn, driver } = machine()
  expect(await hcn.networkNamed('', signal)).toBeUndefined()
  expect(await hcn.endpointNamed('', signal)).toBeUndefined()
  expect(await hcn.endpointIds('', signal)).toEqual([])
  expect(driver.journal).toEqual([])
})

test('lists the endpoints of a network in one call, by the key that HNS knows', async () => {
  const { hcn, driver, network, pod, hns } = machine()
  const other = hns.putNetwork({ name: 'other' })
  hns.putEndpoint(other, { ips: ['10.62.0.1'] })
  expect(await hcn.endpointIds(network, signal)).toEqual([pod])
  expect(driver.takeJournal()).toEqual([
    {
      operation: 'enumerateEndpoints',
      args: [String.raw`{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"VirtualNetwork\":\"${network}\"}"}`],
    },
  ])
})

test('creates an endpoint and a load balancer with one call each, and knows them again', async () => {
  const { hcn, driver, network, pod } = machine()
  const created = await hcn.createEndpoint(network, remote, signal)
  expect(created).toMatchObject({ ips: ['10.61.2.7'], isRemote: true, networkId: network })
  expect(await hcn.endpoint(created.id, signal)).toEqual(created)
  const settings = balancerTo(pod, created.id)
  const id = await hcn.createLoadBalancer(settings, signal)
  expect(operationsOf(driver)).toEqual(['createEndpoint', 'queryEndpoint', 'createLoadBalancer'])
  expect(await hcn.loadBalancerIds(signal)).toEqual([id])
  expect(await hcn.loadBalancer(id, signal)).toEqual({ ...settings, id })
  expect(await hcn.loadBalancers(signal)).toEqual([{ ...settings, id }])
  expect(await hcn.loadBalancerSummaries(signal)).toEqual([
    {
      id,
      endpoints: [pod, created.id],
      vip: '10.112.0.20',
      protocol: 6,
      internalPort: 8080,
      externalPort: 80,
      sourceVip: undefined,
      isDsr: true,
      isDegraded: false,
    },
  ])
  expect(await hcn.modifyLoadBalancer(id, balancerTo(pod), signal)).toEqual({ ...balancerTo(pod), id })
  expect(await hcn.loadBalancers(signal)).toEqual([{ ...balancerTo(pod), id }])
})

test('what is gone is gone: reading it finds nothing, and deleting it again is done', async () => {
  const { hcn, pod, hns } = machine({ unknownId: 'kind not found' })
  const id = await hcn.createLoadBalancer(balancerTo(pod), signal)
  for (const wasThere of [true, false]) expect(await hcn.deleteLoadBalancer(id, signal)).toBe(wasThere)
  for (const wasThere of [true, false]) expect(await hcn.deleteEndpoint(pod, signal)).toBe(wasThere)
  expect(await hcn.loadBalancer(id, signal)).toBeUndefined()
  expect(await hcn.endpoint(pod, signal)).toBeUndefined()
  expect(hns.loadBalancers).toEqual([])
})

test('a delete that fails in another way is not done', async () => {
  const { hcn, driver, pod } = machine()
  driver.fault({ operation: 'removeEndpoint', hresult: hresult.rpcUnavailable })
  await expect(hcn.deleteEndpoint(pod, signal)).rejects.toMatchObject({ reason: 'unavailable' })
})

test('a load balancer to an endpoint that is gone is an error, not nothing', async () => {
  const { hcn, pod, hns } = machine()
  hns.remove('Endpoint', pod)
  await expect(hcn.createLoadBalancer(balancerTo(pod), signal)).rejects.toMatchObject({ reason: 'not-found' })
})

test('an object that goes away between listing and reading is left out', async () => {
  const { hcn, driver, pod, hns } = machine()
  const ids = []
  for (const externalPort of [80, 81, 82])
    ids.push(await hcn.createLoadBalancer({ ...balancerTo(pod), externalPort }, signal))
  let listed = () => {}
  driver.fault({ operation: 'queryLoadBalancer', until: new Promise<void>((resolve) => (listed = resolve)) })
  const listing = hcn.loadBalancers(signal)
  hns.remove('LoadBalancer', ids[1] ?? '')
  hns.remove('LoadBalancer', ids[0] ?? '')
  await new Promise((resolve) => setImmediate(resolve))
  listed()
  expect((await listing).map(({ id }) => id)).toEqual([ids[2]])
})

test('a network that goes away between listing and reading is not there', async () => {
  const { hcn, driver } = machine()
  driver.fault({ operation: 'queryNetwork', hresult: hresult.networkNotFound })
  expect(await hcn.networkNamed('pod-net', signal)).toBeUndefined()
})

test('a load balancer without a port mapping is left out', async () => {
  const { hcn, pod, hns } = machine()
  hns.putHalfLoadBalancer()
  const id = await hcn.createLoadBalancer(balancerTo(pod), signal)
  expect(await hcn.loadBalancers(signal)).toMatchObject([{ id }])
  expect(await hcn.loadBalancerSummaries(signal)).toMatchObject([{ id }])
})

test('HNS is asked one thing at a time, whoever asks', async () => {
  const { hns, network } = machine()
  const clock = new FakeClock()
  const driver = new MemoryDriver(hns, { clock, delayMs: 5 })
  const hcn = hcnOverDriver(driver, { clock, timeLimitMs: 1000 })
  const all = Promise.all([
    hcn.version(signal),
    hcn.networkNamed('pod-net', signal),
    hcn.createEndpoint(network, remote, signal),
    hcn.endpointIds(network, signal),
  ])
  await clock.advance(1000)
  await all
  expect(driver.mostAtOnce).toBe(1)
  expect(operationsOf(driver)).toEqual([
    'hnsCall',
    'enumerateNetworks',
    'queryNetwork',
    'createEndpoint',
    'enumerateEndpoints',
  ])
})

test('an HNS that hangs fails every call with its name, and works again once it answers', async () => {
  const { hns, pod } = machine()
  const clock = new FakeClock()
  const driver = new MemoryDriver(hns)
  const hcn = hcnOverDriver(driver, { clock, timeLimitMs: 30_000 })
  let answer = () => {}
  driver.fault({ operation: 'removeEndpoint', until: new Promise<void>((resolve) => (answer = resolve)) })
  const calls = Promise.allSettled([hcn.deleteEndpoint(pod, signal), hcn.version(signal)])
  await clock.advance(30_000)
  expect((await calls).map((it) => it.status === 'rejected' && String(it.reason))).toEqual([
    `HcnError: cannot delete endpoint ${pod}: HNS has not answered for 30 s`,
    `HcnError: cannot read its version: HNS was asked to delete endpoint ${pod} 30 s ago and has not answered; if that lasts, restart it: Restart-Service hns`,
  ])
  answer()
  await clock.advance(0)
  expect(await hcn.version(signal)).toMatchObject({ major: 15 })
})

test('a call that was aborted in time is never made', async () => {
  const { hcn, driver, network } = machine()
  const stopped = AbortSignal.abort(new Error('stopping'))
  await expect(hcn.createEndpoint(network, remote, stopped)).rejects.toThrow('stopping')
  await expect(hcn.loadBalancers(stopped)).rejects.toThrow('stopping')
  expect(driver.journal).toEqual([])
})
