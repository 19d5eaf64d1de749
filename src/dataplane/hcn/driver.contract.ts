/** The tests that every driver passes: the library of the system, or an HNS in memory. */
import { expect, test } from 'vitest'
import type { HcnDriver } from './driver.ts'
import { renderEndpoint, renderLoadBalancer, renderQuery } from './documents.ts'
import type { LoadBalancerSettings } from './hcn.ts'
import { parseEndpoint, parseIds, parseLoadBalancer, parseNetwork, parsePolicyLists, parseVersion } from './replies.ts'

/** An HNS 15.5 with nothing but a network `pod-net`, of type L2Bridge, and a network `Füchse 🦊`. */
export interface DriverUnderTest extends AsyncDisposable {
  readonly driver: HcnDriver
}

const unknownId = 'dead0000-0000-4000-8000-00000000beef'

export function driverContract(name: string, make: () => Promise<DriverUnderTest>): void {
  test(`${name} tells the version of HNS`, async () => {
    await using it = await make()
    expect(parseVersion(await it.driver.hnsCall('GET', '/globals/version', ''))).toEqual({ major: 15, minor: 5 })
  })

  test(`${name} answers an unknown path of the old API with a failure inside the answer`, async () => {
    await using it = await make()
    expect(JSON.parse(await it.driver.hnsCall('GET', '/nowhere', ''))).toMatchObject({ Success: false })
  })

  test(`${name} finds a network by its name, and no other`, async () => {
    await using it = await make()
    const network = parseNetwork(await it.driver.query('Network', await podNet(it.driver), renderQuery()))
    expect(network).toMatchObject({ name: 'pod-net', type: 'L2Bridge' })
    expect(parseIds(await it.driver.enumerate('Network', renderQuery({ Name: 'pod-ne' })))).toEqual([])
    expect(parseIds(await it.driver.enumerate('Network', renderQuery()))).toHaveLength(2)
  })

  test(`${name} keeps letters of every alphabet`, async () => {
    await using it = await make()
    const [id = ''] = parseIds(await it.driver.enumerate('Network', renderQuery({ Name: 'Füchse 🦊' })))
    expect(parseNetwork(await it.driver.query('Network', id, renderQuery())).name).toBe('Füchse 🦊')
  })

  test(`${name} creates an endpoint, lists it with its network, and deletes it`, async () => {
    await using it = await make()
    const networkId = await podNet(it.driver)
    const created = await createEndpoint(it.driver, networkId, '10.61.2.7')
    expect(created).toMatchObject({ networkId, ips: ['10.61.2.7'], mac: '02-11-0a-3d-02-07', isRemote: true })
    expect(parseEndpoint(await it.driver.query('Endpoint', created.id, renderQuery()))).toEqual(created)
    expect(await endpointIds(it.driver, networkId)).toEqual([created.id])
    expect(await endpointIds(it.driver, unknownId)).toEqual([])
    await it.driver.remove('Endpoint', created.id)
    expect(await endpointIds(it.driver, networkId)).toEqual([])
  })

  test(`${name} takes ids in either case`, async () => {
    await using it = await make()
    const networkId = (await podNet(it.driver)).toUpperCase()
    const { id } = await createEndpoint(it.driver, networkId, '10.61.2.7')
    expect(await endpointIds(it.driver, networkId)).toEqual([id])
    expect(parseEndpoint(await it.driver.query('Endpoint', id.toUpperCase(), renderQuery())).id).toBe(id)
    await it.driver.remove('Endpoint', id.toUpperCase())
    expect(await endpointIds(it.driver, networkId)).toEqual([])
  })

  test(`${name} creates, changes and deletes a load balancer, which the old API shows, too`, async () => {
    await using it = await make()
    const networkId = await podNet(it.driver)
    const { id: first } = await createEndpoint(it.driver, networkId, '10.61.2.7')
    const { id: second } = await createEndpoint(it.driver, networkId, '10.61.2.8')
    const settings = balancerTo([first])
    const created = parseLoadBalancer(await it.driver.create('LoadBalancer', renderLoadBalancer(settings)))
    const id = created?.id ?? ''
    expect(created).toEqual({ ...settings, id })
    expect(parseIds(await it.driver.enumerate('LoadBalancer', renderQuery()))).toEqual([id])
    expect(await summaries(it.driver)).toMatchObject([
      { id, endpoints: [first], vip: '10.112.0.20', protocol: 6, internalPort: 8080, externalPort: 80, isDsr: true },
    ])

    const changed = { ...settings, endpoints: [first, second] }
    expect(parseLoadBalancer(await it.driver.modifyLoadBalancer(id, renderLoadBalancer(changed)))).toEqual({
      ...changed,
      id,
    })
    expect(parseLoadBalancer(await it.driver.query('LoadBalancer', id, renderQuery()))).toEqual({ ...changed, id })
    await it.driver.remove('LoadBalancer', id)
    expect(parseIds(await it.driver.enumerate('LoadBalancer', renderQuery()))).toEqual([])
    expect(await summaries(it.driver)).toEqual([])
  })

  test(`${name} carries a document of a megabyte`, async () => {
    await using it = await make()
    const { id } = await createEndpoint(it.driver, await podNet(it.driver), '10.61.2.7')
    const settings = balancerTo(Array.from({ length: 25_000 }, () => id))
    const text = renderLoadBalancer(settings)
    expect(text.length).toBeGreaterThan(900_000)
    const created = parseLoadBalancer(await it.driver.create('LoadBalancer', text))
    expect(created?.endpoints).toHaveLength(25_000)
  })

  test(`${name} does not find what is not there`, async () => {
    await using it = await make()
    const { driver } = it
    const failures = await Promise.allSettled([
      driver.query('Network', unknownId, renderQuery()),
      driver.query('Endpoint', unknownId, renderQuery()),
      driver.query('LoadBalancer', unknownId, renderQuery()),
      driver.remove('Endpoint', unknownId),
      driver.remove('LoadBalancer', unknownId),
      driver.modifyLoadBalancer(unknownId, renderLoadBalancer(balancerTo([unknownId]))),
      driver.create('LoadBalancer', renderLoadBalancer(balancerTo([unknownId]))),
      createEndpoint(driver, unknownId, '10.61.2.7'),
    ])
    for (const failure of failures) expect(failure).toMatchObject({ reason: { name: 'HcnError', reason: 'not-found' } })
  })

  test(`${name} refuses an id that is none`, async () => {
    await using it = await make()
    for (const id of ['', 'x', `{${unknownId}}`, unknownId.slice(1)]) {
      const failures = await Promise.allSettled([
        it.driver.query('Endpoint', id, renderQuery()),
        it.driver.remove('LoadBalancer', id),
        it.driver.modifyLoadBalancer(id, '{}'),
      ])
      for (const failure of failures) expect(failure).toMatchObject({ reason: { name: 'HcnError', reason: 'refused' } })
    }
  })

  test(`${name} tells who has a frontend from who is the same`, async () => {
    await using it = await make()
    const networkId = await podNet(it.driver)
    const { id: first } = await createEndpoint(it.driver, networkId, '10.61.2.7')
    const { id: second } = await createEndpoint(it.driver, networkId, '10.61.2.8')
    const create = (settings: LoadBalancerSettings) => it.driver.create('LoadBalancer', renderLoadBalancer(settings))
    await create(balancerTo([first]))
    await expect(create(balancerTo([first]))).rejects.toMatchObject({
      reason: 'already-exists',
      hresult: 0x800700b7,
    })
    await expect(create(balancerTo([second]))).rejects.toMatchObject({
      reason: 'port-already-exists',
      hresult: 0x803b0013,
      message:
        'hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013) ' +
        '{"Success":false,"Error":"The specified port already exists. ","ErrorCode":2151350291}',
    })
    await create({ ...balancerTo([second]), externalPort: 81 })
    await create({ ...balancerTo([second]), protocol: 17 })
    await create({ ...balancerTo([second]), vip: undefined })
    expect(await summaries(it.driver)).toHaveLength(4)
  })

  test(`${name} refuses a document that cannot be read`, async () => {
    await using it = await make()
    await expect(it.driver.create('LoadBalancer', 'no JSON')).rejects.toMatchObject({
      reason: 'refused',
      hresult: 0x803b001b,
    })
  })
}

async function podNet(driver: HcnDriver): Promise<string> {
  const [id = ''] = parseIds(await driver.enumerate('Network', renderQuery({ Name: 'pod-net' })))
  return id
}

async function createEndpoint(driver: HcnDriver, networkId: string, ip: string) {
  const settings = { ip, mac: '02-11-0a-3d-02-07', isRemote: true, providerAddress: undefined }
  return parseEndpoint(await driver.create('Endpoint', renderEndpoint(networkId, settings), networkId))
}

async function endpointIds(driver: HcnDriver, networkId: string): Promise<readonly string[]> {
  return parseIds(await driver.enumerate('Endpoint', renderQuery({ VirtualNetwork: networkId })))
}

async function summaries(driver: HcnDriver) {
  return parsePolicyLists(await driver.hnsCall('GET', '/policylists/', ''))
}

function balancerTo(endpoints: readonly string[]): LoadBalancerSettings {
  return {
    endpoints,
    sourceVip: '10.61.1.2',
    vip: '10.112.0.20',
    protocol: 6,
    internalPort: 8080,
    externalPort: 80,
    isSticky: true,
    mappingFlags: 16,
    flags: 1,
  }
}
