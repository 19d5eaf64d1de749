import { describe, expect, test } from 'vitest'
import { testBalancer } from '../testing/load-balancers.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { renderEndpoint, renderLoadBalancer, renderQuery } from '../documents.ts'
import { driverContract } from '../driver.contract.ts'
import { hresult } from '../hresult.ts'
import { parseIds, parseLoadBalancer, parsePolicyLists } from '../replies.ts'
import { profiles } from './hns-options.ts'
import type { HnsOptions } from './hns-options.ts'
import { MemoryDriver } from './memory-driver.ts'
import { MemoryHns } from './memory-hns.ts'

for (const idCase of ['lower', 'upper', 'now this, now that'] as const)
  driverContract(`MemoryDriver (ids in ${idCase} case)`, async () => {
    const hns = new MemoryHns({ profile: '2025', idCase })
    hns.putNetwork({ name: 'pod-net', type: 'L2Bridge' })
    hns.putNetwork({ name: 'Füchse 🦊' })
    return { driver: new MemoryDriver(hns), async [Symbol.asyncDispose]() {} }
  })

function machine(options: HnsOptions = {}) {
  const hns = new MemoryHns(options)
  const network = hns.putNetwork({ name: 'pod-net', subnets: ['10.61.1.0/24'], gateways: ['10.61.1.1'] })
  const pod = hns.putEndpoint(network, { ips: ['10.61.1.5', '2001:db8:61::5'] })
  return { hns, network, pod, driver: new MemoryDriver(hns) }
}

const balancer = testBalancer()
const endpoint = { mac: '02-11-00-00-00-00', isRemote: true, providerAddress: undefined }

describe('an HNS in memory', () => {
  test('knows an unknown id by one code, or by one for each kind', async () => {
    const general = machine().driver
    const byKind = machine({ unknownId: 'kind not found' }).driver
    const id = 'dead0000-0000-4000-8000-00000000beef'
    for (const kind of ['Network', 'Endpoint'] as const)
      await expect(general.query(kind, id, renderQuery())).rejects.toMatchObject({ hresult: hresult.elementNotFound })
    await expect(byKind.query('Network', id, renderQuery())).rejects.toMatchObject({ hresult: hresult.networkNotFound })
    await expect(byKind.remove('Endpoint', id)).rejects.toMatchObject({ hresult: hresult.endpointNotFound })
  })

  test.each([
    ['a gateway', { ip: '10.61.1.1', isRemote: false }, hresult.addressReserved],
    ['a local address outside of the network', { ip: '10.99.0.1', isRemote: false }, hresult.addressOutsideSubnets],
    ['no address', { ip: 'x' }, hresult.addressOutsideSubnets],
    ['the address of another local one', { ip: '10.61.1.5', isRemote: false }, hresult.addressReserved],
  ])('refuses an endpoint with %s', async (_, change, code) => {
    const { driver, network } = machine()
    const document = renderEndpoint(network, { ...endpoint, ...change })
    await expect(driver.create('Endpoint', document, network)).rejects.toMatchObject({ hresult: code })
  })

  test.each([
    ['2019', true],
    ['2022', true],
    ['2025', false],
  ] as const)('of Server %s has a local and a remote endpoint with one address: %s', async (profile, isAllowed) => {
    const { driver, network, hns } = machine({ profile })
    const document = renderEndpoint(network, { ...endpoint, ip: '10.61.1.5' })
    expect(await settled(driver.create('Endpoint', document, network))).toBe(isAllowed ? 'fulfilled' : 'rejected')
    expect(hns.endpoints).toHaveLength(isAllowed ? 2 : 1)
    await expect(driver.create('Endpoint', document, network)).rejects.toMatchObject({
      hresult: hresult.addressReserved,
    })
  })

  test.each([
    ['no endpoint', { endpoints: [] }, hresult.policyInvalid],
    ['an address that is none', { vip: 'x' }, hresult.policyInvalid],
    ['no internal port', { internalPort: 0 }, hresult.internalPortMissing],
  ])('refuses a load balancer with %s', async (_, change, code) => {
    const { driver, pod, hns } = machine()
    const document = renderLoadBalancer({ ...balancer, endpoints: [pod], ...change })
    await expect(driver.create('LoadBalancer', document)).rejects.toMatchObject({ hresult: code })
    expect(hns.loadBalancers).toEqual([])
  })

  test('forwards one port of all addresses for each family', async () => {
    const { driver, pod } = machine()
    const wanted = { ...balancer, endpoints: [pod], vip: undefined }
    await driver.create('LoadBalancer', renderLoadBalancer(wanted))
    await driver.create('LoadBalancer', renderLoadBalancer({ ...wanted, flags: 2 }))
    await expect(driver.create('LoadBalancer', renderLoadBalancer({ ...wanted, flags: 3 }))).rejects.toMatchObject({
      reason: 'port-already-exists',
    })
  })

  test.each([
    ['2019', undefined, 'refused'],
    ['2019', '172.30.7.11', 'refused'],
    ['2019', '10.112.0.20', 'taken'],
    ['2022', undefined, 'taken'],
  ] as const)('of Server %s: a port that a program has, on %s, is %s', async (profile, vip, outcome) => {
    const hostPorts = [{ protocol: 6, port: 10256 }]
    const { driver, pod, hns } = machine({ profile, hostPorts, hostIps: ['172.30.7.11'] })
    const wanted = { ...balancer, endpoints: [pod], vip, externalPort: 10256 }
    await Promise.allSettled([driver.create('LoadBalancer', renderLoadBalancer(wanted))])
    expect(hns.loadBalancers).toHaveLength(outcome === 'refused' ? 0 : 1)
    await driver.create('LoadBalancer', renderLoadBalancer({ ...wanted, protocol: 17 }))
  })

  test('may keep the port of a deleted load balancer until it restarts', async () => {
    const { driver, pod, hns } = machine({ deletedPort: 'stays taken' })
    const document = renderLoadBalancer({ ...balancer, endpoints: [pod] })
    await driver.create('LoadBalancer', document)
    await driver.remove('LoadBalancer', hns.loadBalancers[0]?.id ?? '')
    await expect(driver.create('LoadBalancer', document)).rejects.toMatchObject({ reason: 'port-already-exists' })
    hns.start()
    await driver.create('LoadBalancer', document)
  })

  test.each([
    ['13.1', { major: 13, minor: 1 }, 'not-implemented', 8080],
    ['15.4', { major: 15, minor: 4 }, undefined, 8080],
    ['15.5', { major: 15, minor: 5 }, undefined, 9090],
  ])('of version %s changes a load balancer, says so, or not', async (_, version, reason, port) => {
    const { driver, pod, hns } = machine({ version })
    const id = hns.putLoadBalancer({ ...balancer, endpoints: [pod] })
    const document = renderLoadBalancer({ ...balancer, endpoints: [pod], internalPort: 9090 })
    const [outcome] = await Promise.allSettled([driver.modifyLoadBalancer(id, document)])
    expect(outcome?.status === 'rejected' ? outcome.reason : {}).toMatchObject(reason === undefined ? {} : { reason })
    expect(hns.loadBalancers).toMatchObject([{ id, internalPort: port }])
  })

  test('may say that it changed a load balancer, and keep its flags and affinity', async () => {
    const { driver, pod, hns } = machine({ profile: '2025', changeInPlace: 'endpoints and ports' })
    const id = hns.putLoadBalancer({ ...balancer, endpoints: [pod] })
    const wanted = { ...balancer, endpoints: [pod], internalPort: 9090, isSticky: true, flags: 1, mappingFlags: 16 }
    const answer = parseLoadBalancer(await driver.modifyLoadBalancer(id, renderLoadBalancer(wanted)))
    expect(answer).toEqual({ ...balancer, id, endpoints: [pod], internalPort: 9090 })
  })

  test('keeps an endpoint that a load balancer names', async () => {
    const { driver, pod, hns } = machine()
    hns.putLoadBalancer({ ...balancer, endpoints: [pod] })
    await expect(driver.remove('Endpoint', pod)).rejects.toMatchObject({ hresult: hresult.hasReferences })
    expect(hns.endpoints).toHaveLength(1)
  })

  test('or deletes it, and its load balancer leads nowhere', async () => {
    const { driver, pod, hns } = machine({ endpointInUse: 'degrades its load balancers' })
    hns.putLoadBalancer({ ...balancer, endpoints: [pod] })
    await driver.remove('Endpoint', pod)
    expect(parsePolicyLists(await driver.hnsCall('GET', '/policylists/', ''))).toMatchObject([{ isDegraded: true }])
  })

  test('loses the endpoints of a removed network, and may keep its load balancers until it restarts', async () => {
    const { driver, pod, network, hns } = machine({ orphanedLoadBalancers: 'cannot be deleted' })
    const id = hns.putLoadBalancer({ ...balancer, endpoints: [pod] })
    hns.removeNetwork(network)
    expect(hns.endpoints).toEqual([])
    await expect(driver.remove('LoadBalancer', id)).rejects.toMatchObject({ reason: 'refused' })
    hns.start()
    await driver.remove('LoadBalancer', id)
  })

  test('does not answer while it restarts, and has everything afterwards', async () => {
    const { driver, pod, network, hns } = machine()
    const id = hns.putLoadBalancer({ ...balancer, endpoints: [pod] })
    const list = async () => parseIds(await driver.enumerate('LoadBalancer', renderQuery()))
    hns.stop()
    for (const call of [list(), driver.hnsCall('GET', '/globals/version', ''), driver.remove('LoadBalancer', id)])
      await expect(call).rejects.toMatchObject({ reason: 'unavailable', hresult: hresult.rpcUnavailable })
    hns.start(['Endpoint', 'LoadBalancer'])
    const [newId = ''] = await list()
    expect(newId).not.toBe(id)
    expect(hns.networks).toMatchObject([{ id: network }])
    const [moved] = hns.endpoints
    expect(moved?.id).not.toBe(pod)
    expect(parseLoadBalancer(await driver.query('LoadBalancer', newId, renderQuery()))?.endpoints).toEqual([moved?.id])

    hns.stop(2)
    const outcomes = [await settled(list()), await settled(list()), await settled(list())]
    expect(outcomes).toEqual(['rejected', 'rejected', 'fulfilled'])
  })

  test('ignores a filter that it does not know, or refuses it', async () => {
    const query = JSON.stringify({ Filter: JSON.stringify({ HostComputeNetwork: 'x' }) })
    expect(parseIds(await machine().driver.enumerate('Endpoint', query))).toHaveLength(1)
    const strict = machine({ unknownFilter: 'is refused' }).driver
    for (const wrong of [query, JSON.stringify({ Filter: { Name: 'x' } })])
      await expect(strict.enumerate('Endpoint', wrong)).rejects.toMatchObject({ reason: 'refused' })
  })

  test('leaves half a load balancer where a create failed', async () => {
    const { driver, hns } = machine({ refusedLoadBalancer: 'leaves a half' })
    await settled(driver.create('LoadBalancer', renderLoadBalancer(balancer)))
    const [id = ''] = parseIds(await driver.enumerate('LoadBalancer', renderQuery()))
    expect(JSON.parse(await driver.query('LoadBalancer', id, renderQuery()))).not.toHaveProperty('PortMappings')
    await driver.remove('LoadBalancer', id)
    expect(hns.loadBalancers).toEqual([])
  })

  test('tells nothing of what is zero, not even that a network is NAT', async () => {
    const { driver, hns } = machine()
    const network = hns.putNetwork({ name: 'nat', type: 'NAT' })
    expect(JSON.parse(await driver.query('Network', network, renderQuery()))).not.toHaveProperty('Type')
  })

  test.each(Object.entries(profiles))('has the version of Server %s', async (profile, { version }) => {
    const hns = new MemoryHns({ profile: profile as '2019' })
    const answer = await new MemoryDriver(hns).hnsCall('GET', '/globals/version', '')
    expect(JSON.parse(answer)).toEqual({ Success: true, Output: { Major: version.major, Minor: version.minor } })
  })
})

describe('a driver in memory', () => {
  test('writes down what was asked, in order', async () => {
    const { driver, pod } = machine()
    await driver.enumerate('LoadBalancer', 'null')
    await driver.query('Endpoint', pod, '{}')
    await settled(driver.remove('LoadBalancer', pod))
    expect(driver.takeJournal()).toEqual([
      { operation: 'enumerateLoadBalancers', args: ['null'] },
      { operation: 'queryEndpoint', args: [pod, '{}'] },
      { operation: 'removeLoadBalancer', args: [pod] },
    ])
    expect(driver.takeJournal()).toEqual([])
  })

  test('fails at the n-th call of a kind, so often', async () => {
    const { driver, pod } = machine()
    driver.fault({ operation: 'queryEndpoint', nth: 2, times: 2, hresult: hresult.switchPortNotFound })
    const outcomes: string[] = []
    for (let call = 0; call < 5; call++) {
      await driver.enumerate('Network', '{}')
      outcomes.push(await settled(driver.query('Endpoint', pod, '{}')))
    }
    expect(outcomes).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'])
  })

  test('fails by what is asked, until it is told otherwise', async () => {
    const { driver } = machine()
    const mend = driver.fault({
      where: ({ args }) => args[0] === 'bad',
      times: Number.POSITIVE_INFINITY,
      hresult: hresult.policyInvalid,
    })
    const create = (text: string) => settled(driver.create('LoadBalancer', text))
    await expect(driver.create('LoadBalancer', 'bad')).rejects.toMatchObject({ hresult: hresult.policyInvalid })
    await expect(driver.create('LoadBalancer', 'worse')).rejects.toMatchObject({ hresult: hresult.invalidJson })
    expect(await create('bad')).toBe('rejected')
    mend()
    await expect(driver.create('LoadBalancer', 'bad')).rejects.toMatchObject({ hresult: hresult.invalidJson })
  })

  test('does what was asked, and loses the answer; or does half of it', async () => {
    const { driver, pod, hns } = machine()
    const document = renderLoadBalancer({ ...balancer, endpoints: [pod] })
    driver.fault({ operation: 'createLoadBalancer', hresult: hresult.rpcUnavailable, effect: 'all' })
    expect(await settled(driver.create('LoadBalancer', document))).toBe('rejected')
    expect(hns.loadBalancers).toMatchObject([{ isHalf: false }])
    driver.fault({ operation: 'createLoadBalancer', hresult: hresult.rpcUnavailable, effect: 'half' })
    expect(await settled(driver.create('LoadBalancer', document))).toBe('rejected')
    expect(hns.loadBalancers).toMatchObject([{ isHalf: false }, { isHalf: true }])
  })

  test('fails with success and a record', async () => {
    const { driver } = machine()
    driver.fault({ hresult: 0, record: '{"Success":false}' })
    await expect(driver.enumerate('Network', '{}')).rejects.toMatchObject({ hresult: hresult.generalFailure })
  })

  test('takes its time for each function of the library, and hangs', async () => {
    const clock = new FakeClock()
    const { hns, pod } = machine()
    const driver = new MemoryDriver(hns, { clock, delayMs: 5 })
    const timed = driver.query('Endpoint', pod, '{}').then(() => clock.monotonic())
    await clock.advance(100)
    expect(await timed).toBe(15)
    let release = () => {}
    driver.fault({ until: new Promise<void>((resolve) => (release = resolve)) })
    let isDone = false
    const hanging = driver.query('Endpoint', pod, '{}').then(() => (isDone = true))
    await clock.advance(60_000)
    expect(isDone).toBe(false)
    release()
    expect(await hanging).toBe(true)
  })
})

async function settled(call: Promise<unknown>): Promise<string> {
  const [outcome] = await Promise.allSettled([call])
  return outcome.status
}
