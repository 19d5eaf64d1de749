import { expect, test } from 'vitest'
import { objectKey } from '../../api/records.ts'
import type { Change } from '../backend.ts'
import type { Endpoint, Route } from '../route.ts'
import { ServiceHealth } from './service-health.ts'
import { testEndpoint, testRoute, testView } from '../testing/routes.ts'

const web = objectKey({ namespace: 'demo', name: 'web' })
const full: Change = { full: true, keys: [], causes: [] }
const changed = (...routes: readonly Route[]): Change => ({
  full: false,
  keys: routes.map(({ key }) => key),
  causes: [],
})

function given(isProxyHealthy = true) {
  return new ServiceHealth({ isProxyHealthy: () => isProxyHealthy })
}

function local(count: number, overrides: Partial<Endpoint> = {}): Endpoint[] {
  return Array.from({ length: count }, (_, i) =>
    testEndpoint(`10.64.0.${i + 1}`, 8080, { isLocal: true, ...overrides }),
  )
}

test('a Service with local endpoints answers 200 with their number, in exactly the bytes of kube-proxy', () => {
  const health = given()
  health.update(testView(testRoute('demo/web', { healthCheckNodePort: 9376, endpoints: local(1) })), full)
  expect(health.answer(web)).toEqual({
    status: 200,
    headers: {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'X-Load-Balancing-Endpoint-Weight': '1',
    },
    body: '{\n\t"service": {\n\t\t"namespace": "demo",\n\t\t"name": "web"\n\t},\n\t"localEndpoints": 1,\n\t"serviceProxyHealthy": true\n}',
  })
})

test('a Service without local endpoints answers 503 with weight 0', () => {
  const health = given()
  const remote = testEndpoint('10.64.9.1', 8080)
  health.update(testView(testRoute('demo/web', { healthCheckNodePort: 9376, endpoints: [remote] })), full)
  expect(health.answer(web)).toMatchObject({ status: 503, headers: { 'X-Load-Balancing-Endpoint-Weight': '0' } })
})

test('the weight follows the endpoints', () => {
  const health = given()
  const many = testRoute('demo/web', { healthCheckNodePort: 9376, endpoints: local(18) })
  health.update(testView(many), full)
  expect(health.answer(web)).toMatchObject({ status: 200, headers: { 'X-Load-Balancing-Endpoint-Weight': '18' } })
  expect(health.answer(web)?.body).toContain('"localEndpoints": 18')
  const none = { ...many, endpoints: [] }
  health.update(testView(none), changed(none))
  expect(health.answer(web)?.status).toBe(503)
})

test('only ready endpoints count, also when a terminating one still serves', () => {
  const health = given()
  const endpoints = local(1, { ready: false, serving: true, terminating: true })
  health.update(testView(testRoute('demo/web', { healthCheckNodePort: 9376, endpoints })), full)
  expect(health.answer(web)?.status).toBe(503)
})

test('a pod behind two ports of a Service counts once', () => {
  const health = given()
  const http = testRoute('demo/web:http', { healthCheckNodePort: 9376, endpoints: local(2) })
  const admin = testRoute('demo/web:admin', {
    healthCheckNodePort: 9376,
    endpoints: [testEndpoint('10.64.0.1', 9090, { isLocal: true }), testEndpoint('10.64.0.7', 9090, { isLocal: true })],
  })
  health.update(testView(http, admin), full)
  expect(health.answer(web)?.headers['X-Load-Balancing-Endpoint-Weight']).toBe('3')
  expect(health.desiredHealthPorts()).toHaveLength(1)
  health.update(testView(http), changed(admin))
  expect(health.answer(web)?.headers['X-Load-Balancing-Endpoint-Weight']).toBe('2')
})

test('an unhealthy proxy answers 503 with the true number', () => {
  const health = given(false)
  health.update(testView(testRoute('demo/web', { healthCheckNodePort: 9376, endpoints: local(2) })), full)
  expect(health.answer(web)).toMatchObject({ status: 503, headers: { 'X-Load-Balancing-Endpoint-Weight': '2' } })
  expect(health.answer(web)?.body).toContain('"serviceProxyHealthy": false')
})

test('only Services with a health-check port are listened for', () => {
  const health = given()
  health.update(
    testView(testRoute('demo/plain', { endpoints: local(1) }), testRoute('demo/web', { healthCheckNodePort: 9376 })),
    full,
  )
  expect(health.desiredHealthPorts()).toEqual([{ service: web, namespace: 'demo', name: 'web', port: 9376 }])
  expect(health.answer(objectKey({ namespace: 'demo', name: 'plain' }))).toBeUndefined()
})

test('a changed port moves, a removed Service goes, and the others keep their number', () => {
  const health = given()
  const moved = testRoute('demo/web', { healthCheckNodePort: 9376, endpoints: local(1) })
  const removed = testRoute('demo/old', { healthCheckNodePort: 9377 })
  const kept = testRoute('demo/kept', { healthCheckNodePort: 9378, endpoints: local(4) })
  health.update(testView(moved, removed, kept), full)
  const after = { ...moved, healthCheckNodePort: 9400 }
  health.update(testView(after, kept), changed(removed, after))
  expect(health.desiredHealthPorts().map(({ service, port }) => `${service} ${port}`)).toEqual([
    'demo/web 9400',
    'demo/kept 9378',
  ])
  expect(health.answer(objectKey(kept))?.headers['X-Load-Balancing-Endpoint-Weight']).toBe('4')
  expect(health.answer(objectKey(removed))).toBeUndefined()
})

test('a Service that gives up its health-check port is no longer listened for', () => {
  const health = given()
  const before = testRoute('demo/web', { healthCheckNodePort: 9376 })
  health.update(testView(before), full)
  const after = { ...before, healthCheckNodePort: undefined }
  health.update(testView(after), changed(after))
  expect(health.desiredHealthPorts()).toEqual([])
})

test('a full sync forgets what is not in the view', () => {
  const health = given()
  health.update(testView(testRoute('demo/web', { healthCheckNodePort: 9376 })), full)
  health.update(testView(), full)
  expect(health.desiredHealthPorts()).toEqual([])
})

test('a route that nobody knew, and that is gone, changes nothing', () => {
  const health = given()
  health.update(testView(), changed(testRoute('demo/web', { healthCheckNodePort: 9376 })))
  expect(health.desiredHealthPorts()).toEqual([])
  expect(health.answer(web)).toBeUndefined()
})

test('a Service that was gone counts anew when it is back', () => {
  const health = given()
  const route = testRoute('demo/web', { healthCheckNodePort: 9376, endpoints: local(3) })
  health.update(testView(route), full)
  health.update(testView(), changed(route))
  expect(health.answer(web)).toBeUndefined()
  const back = { ...route, endpoints: local(1) }
  health.update(testView(back), changed(back))
  expect(health.answer(web)?.headers['X-Load-Balancing-Endpoint-Weight']).toBe('1')
})

test('a full sync counts only the routes of the view', () => {
  const health = given()
  const http = testRoute('demo/web:http', { healthCheckNodePort: 9376, endpoints: local(1) })
  const admin = testRoute('demo/web:admin', { healthCheckNodePort: 9376, endpoints: local(2) })
  health.update(testView(http, admin), full)
  health.update(testView(http), full)
  expect(health.answer(web)?.headers['X-Load-Balancing-Endpoint-Weight']).toBe('1')
  health.update(testView(http), changed(admin))
  expect(health.answer(web)?.headers['X-Load-Balancing-Endpoint-Weight']).toBe('1')
})
