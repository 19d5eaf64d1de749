import { expect, test, vi } from 'vitest'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import type { Route } from '../../core/route.ts'
import { proxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.0.1', 8080), testEndpoint('10.64.1.1', 8080)]
const web = testRoute('shop/web', { clusterIP: '10.96.0.10', nodePort: 30_080, endpoints: [one, two] })
const dns = testRoute('shop/dns', { clusterIP: '10.96.0.11', protocol: 'UDP', port: 53, endpoints: [one] })
const atClusterIp = { ip: '10.96.0.10', port: 80, protocol: 'TCP' } as const
const atNodePort = { ip: '192.0.2.1', port: 30_080, protocol: 'TCP' } as const

async function given() {
  const node = proxiedNode()
  await node.sync([web, dns], { full: true })
  const { ipvs } = node.kernel
  const carry = (server: Parameters<typeof ipvs.carry>[0], { address }: typeof one, connections: number) =>
    ipvs.carry(server, address, { connections, bytesIn: 10 * connections, bytesOut: 20 * connections })
  const traffic = async ({ key }: Route = web) => (await node.backend.traffic(never)).get(key)
  return { ...node, ipvs, carry, traffic }
}

test('what came to any address of a Service belongs to it, and to the endpoint that got it', async () => {
  const { carry, ipvs, traffic } = await given()
  carry(atClusterIp, one, 3)
  carry(atNodePort, one, 1)
  carry(atNodePort, two, 2)
  ipvs.setConnections(atClusterIp, one.address, 2, 7)
  expect(await traffic()).toEqual({
    connections: 6,
    open: 2,
    bytesIn: 60,
    bytesOut: 120,
    endpoints: new Map([
      [one.address, { connections: 4, open: 2, bytesIn: 40, bytesOut: 80 }],
      [two.address, { connections: 2, open: 0, bytesIn: 20, bytesOut: 40 }],
    ]),
  })
})

test('a UDP flow is open, although the kernel calls it inactive', async () => {
  const { ipvs, traffic } = await given()
  ipvs.setConnections({ ip: '10.96.0.11', port: 53, protocol: 'UDP' }, one.address, 0, 4)
  expect(await traffic(dns)).toMatchObject({ open: 4 })
})

test('an address that goes does not take along what was read of it', async () => {
  const { carry, traffic, sync } = await given()
  carry(atClusterIp, one, 3)
  carry(atNodePort, two, 2)
  await traffic()
  await sync([withWishes(web, { nodePort: undefined }), dns])
  const now = await traffic()
  expect(now).toMatchObject({ connections: 5, bytesIn: 50 })
  expect(now?.endpoints?.get(two.address)).toMatchObject({ connections: 2 })
  expect(await traffic()).toEqual(now)
})

test('an endpoint that goes is forgotten, and its Service keeps its count', async () => {
  const { carry, traffic, sync } = await given()
  carry(atClusterIp, one, 3)
  carry(atClusterIp, two, 2)
  await traffic()
  await sync([withWishes(web, { endpoints: [one] }), dns])
  expect(await traffic()).toMatchObject({ connections: 5 })
})

test('a Service that is gone begins at zero when it comes back', async () => {
  const { carry, traffic, sync } = await given()
  carry(atClusterIp, one, 3)
  await traffic()
  await sync([dns])
  expect(await traffic()).toBeUndefined()
  await sync([web, dns])
  expect(await traffic()).toMatchObject({ connections: 0 })
})

test('counters are read once, also while nobody knows what a sync has left', async () => {
  const { carry, traffic, sync, kernel } = await given()
  carry(atClusterIp, one, 3)
  await traffic()
  const broken = vi.spyOn(kernel.addresses, 'ensureDummy').mockRejectedValue(new Error('the test refuses'))
  await expect(sync([web, dns], { full: true })).rejects.toThrow('the test refuses')
  expect(await traffic()).toMatchObject({ connections: 3 })
  broken.mockRestore()
  await sync([web, dns], { full: true })
  expect(await traffic()).toMatchObject({ connections: 3, bytesIn: 30 })
})

test('a reading in the middle of a sync counts nothing twice', async () => {
  const { carry, traffic, sync, kernel } = await given()
  carry(atClusterIp, one, 3)
  await traffic()
  const meanwhile: unknown[] = []
  vi.spyOn(kernel.addresses, 'ensureDummy').mockImplementationOnce(async () => {
    meanwhile.push(await traffic())
  })
  await sync([web, dns], { full: true })
  expect(meanwhile).toMatchObject([{ connections: 3 }])
  expect(await traffic()).toMatchObject({ connections: 3 })
})
