import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, onTestFinished, test, vi } from 'vitest'
import { objectKey } from '../../api/records.ts'
import { silentLogger } from '../../core/logger.ts'
import { ServiceHealth } from '../../core/health/service-health.ts'
import type { HealthCheckPort } from '../../core/health/service-health.ts'
import type { NodeView } from '../../core/backend.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { ServiceHealthServer } from './service-health-server.ts'
import type { ServiceHealthServerOptions } from './service-health-server.ts'
import { rawRequest } from './testing/raw-request.ts'

interface Service {
  readonly name: string
  readonly port: number
  readonly localEndpoints: number
}

const hasIpv6 = Object.values(networkInterfaces()).some((entries) => entries?.some(({ address }) => address === '::1'))

/** A loopback address that only this process uses, so that no other test can take a port that was found free. */
const ownIp = `127.77.${(process.pid >> 8) & 255}.${process.pid & 255 || 1}`

test('a service without endpoints answers 503 with weight 0, one with 18 answers 200 with weight 18', async () => {
  const [port = 0] = await freePorts(1)
  const { sync } = given()
  await sync({ name: 'svc1', port, localEndpoints: 0 })
  expect(await ask(port)).toMatchObject({ status: 503, headers: { 'x-load-balancing-endpoint-weight': '0' } })
  await sync({ name: 'svc1', port, localEndpoints: 18 })
  expect(await ask(port)).toEqual({
    status: 200,
    headers: {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': '18',
    },
    body: '{\n\t"service": {\n\t\t"namespace": "ns1",\n\t\t"name": "svc1"\n\t},\n\t"localEndpoints": 18,\n\t"serviceProxyHealthy": true\n}',
  })
})

test('a changed port closes the old one and opens the new one; an unchanged service is not disturbed', async () => {
  const [before = 0, after = 0, other = 0] = await freePorts(3)
  const { sync } = given()
  await sync({ name: 'svc1', port: before, localEndpoints: 1 }, { name: 'svc2', port: other, localEndpoints: 2 })
  await sync({ name: 'svc1', port: after, localEndpoints: 1 }, { name: 'svc2', port: other, localEndpoints: 2 })
  await expect(ask(before)).rejects.toThrow('ECONNREFUSED')
  expect(await ask(after)).toMatchObject({ status: 200 })
  expect(await ask(other)).toMatchObject({ headers: { 'x-load-balancing-endpoint-weight': '2' } })
})

test('a port that moves from one service to another in one step changes its answer', async () => {
  const [port = 0] = await freePorts(1)
  const { sync, failures } = given()
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  await sync({ name: 'svc0', port, localEndpoints: 1 })
  expect(failures).toEqual([])
  expect((await ask(port)).body).toContain('"name": "svc0"')
})

test('a service that goes away closes its port, and so does the end of the server', async () => {
  const [one = 0, two = 0] = await freePorts(2)
  const { sync, server } = given()
  await sync({ name: 'svc1', port: one, localEndpoints: 1 }, { name: 'svc2', port: two, localEndpoints: 1 })
  await sync({ name: 'svc2', port: two, localEndpoints: 1 })
  await expect(ask(one)).rejects.toThrow('ECONNREFUSED')
  await server[Symbol.asyncDispose]()
  await expect(ask(two)).rejects.toThrow('ECONNREFUSED')
})

test('an unhealthy proxy answers 503 with the true count', async () => {
  const [port = 0] = await freePorts(1)
  const { sync } = given({ isProxyHealthy: false })
  await sync({ name: 'svc1', port, localEndpoints: 3 })
  const answer = await ask(port)
  expect(answer).toMatchObject({ status: 503, headers: { 'x-load-balancing-endpoint-weight': '3' } })
  expect(answer.body).toContain('"localEndpoints": 3,\n\t"serviceProxyHealthy": false')
})

test('it listens on the given addresses only, and on none without an error when there is none', async () => {
  const [port = 0] = await freePorts(1)
  const { sync } = given({ listenIps: ['127.0.0.2', '127.0.0.3'] })
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  for (const ip of ['127.0.0.2', '127.0.0.3']) expect(await ask(port, { ip })).toMatchObject({ status: 200 })
  await expect(ask(port)).rejects.toThrow('ECONNREFUSED')

  const nowhere = given({ listenIps: [] })
  await nowhere.sync({ name: 'svc1', port, localEndpoints: 1 })
  await expect(ask(port)).rejects.toThrow('ECONNREFUSED')
  expect(nowhere.failures).toEqual([])
})

test('it follows the addresses when they change', async () => {
  const [port = 0] = await freePorts(1)
  const listenIps = ['0.0.0.0']
  const { sync, failures } = given({ listenIps })
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  expect(await ask(port, { ip: '127.0.0.3' })).toMatchObject({ status: 200 })
  listenIps.splice(0, 1, '127.0.0.2')
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  expect(await ask(port, { ip: '127.0.0.2' })).toMatchObject({ status: 200 })
  await expect(ask(port, { ip: '127.0.0.3' })).rejects.toThrow('ECONNREFUSED')
  expect(failures).toEqual([])
})

test.skipIf(!hasIpv6)('an IPv4 server leaves the port of IPv6 alone (skipped where the host has no ::1)', async () => {
  const holder = createServer().listen(0, '::1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const { sync, failures } = given({ listenIps: ['0.0.0.0'] })
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  expect(failures).toEqual([])
  expect(await ask(port)).toMatchObject({ status: 200 })
  holder.close()
})

test('a busy port is reported, opened on none of the addresses, and tried again by the next sync', async () => {
  const holder = createServer().listen(0, '127.0.0.3')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const { sync, failures } = given({ listenIps: ['127.0.0.2', '127.0.0.3'] })
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  expect(failures).toEqual([
    {
      service: 'ns1/svc1',
      note: expect.stringMatching(
        `^node n1 does not serve port ${port} of ns1/svc1: cannot listen on 127.0.0.3:${port} .*the port is in use`,
      ) as string,
    },
  ])
  await expect(ask(port, { ip: '127.0.0.2' })).rejects.toThrow('ECONNREFUSED')
  await new Promise((resolve) => holder.close(resolve))
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  expect(failures).toHaveLength(1)
  expect(await ask(port, { ip: '127.0.0.3' })).toMatchObject({ status: 200 })
})

test('any path and any method is answered', async () => {
  const [port = 0] = await freePorts(1)
  const { sync } = given()
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  for (const [method, path] of [
    ['GET', '/healthz'],
    ['POST', '/a/b?c=d'],
    ['DELETE', '/'],
  ] as const)
    expect(await ask(port, { method, path })).toMatchObject({ status: 200 })
})

test('a request for a service that has just gone is not told that all is well', async () => {
  const [port = 0] = await freePorts(1)
  const { sync, health } = given()
  await sync({ name: 'svc1', port, localEndpoints: 1 })
  health.update(viewOf([]), { full: true, keys: [], causes: [] })
  expect(await ask(port)).toMatchObject({ status: 503, body: '' })
})

test('changes asked for at once are made one after the other', async () => {
  const [one = 0, two = 0] = await freePorts(2)
  const { server, failures } = given()
  const wanted = (port: number): HealthCheckPort => ({
    service: objectKey({ namespace: 'ns1', name: 'svc1' }),
    namespace: 'ns1',
    name: 'svc1',
    port,
  })
  await Promise.all([server.sync([wanted(one)]), server.sync([wanted(two)]), server.sync([wanted(one)])])
  expect(failures).toEqual([])
  await expect(ask(two)).rejects.toThrow('ECONNREFUSED')
  expect(await ask(one)).toMatchObject({ status: 503 })
})

function given({ isProxyHealthy = true, listenIps = [ownIp] } = {}) {
  const failures: { service: string; note: string }[] = []
  const health = new ServiceHealth({ isProxyHealthy: () => isProxyHealthy })
  const onListenFailure = vi.fn<ServiceHealthServerOptions['onListenFailure']>((port, note) => {
    failures.push({ service: port.service, note })
  })
  const server = new ServiceHealthServer({
    nodeName: 'n1',
    health,
    listenIps: () => [...listenIps],
    onListenFailure,
    maxConnections: 8,
    log: silentLogger,
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const sync = async (...services: Service[]) => {
    health.update(viewOf(services), { full: true, keys: [], causes: [] })
    await server.sync(health.desiredHealthPorts())
  }
  return { server, health, failures, sync }
}

function ask(port: number, { ip = ownIp, method = 'GET', path = '/' } = {}) {
  return rawRequest({ ip, port }, path, { method })
}

/** Ports that are free on our own address. */
async function freePorts(count: number): Promise<number[]> {
  const holders = await Promise.all(
    Array.from({ length: count }, async () => {
      const holder = createServer().listen(0, ownIp)
      await once(holder, 'listening')
      return holder
    }),
  )
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port)
  await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))))
  return ports
}

function viewOf(services: readonly Service[]): NodeView {
  return testView(
    ...services.map(({ name, port, localEndpoints }) =>
      testRoute(`ns1/${name}`, {
        healthCheckNodePort: port,
        endpoints: Array.from({ length: localEndpoints }, (_, i) => testEndpoint(`10.1.0.${i}`, 80, { isLocal: true })),
      }),
    ),
  )
}
