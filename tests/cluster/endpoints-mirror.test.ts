/** The same Services and Endpoints in a cluster with the real mirroring controller and in the embedded server. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { startApiServer } from '../../src/embedded/api-server.ts'
import type { ApiServer } from '../../src/embedded/api-server.ts'
import { allResources } from '../../src/embedded/resources/all-resources.ts'
import { ApiClient, fetchRequests } from '../../src/embedded/testing/api-client.ts'
import type { JsonObject } from '../../src/embedded/testing/api-client.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { buildProgram } from './testing/programs.ts'
import { ServerProcess } from './testing/server-process.ts'

let cluster: ControlPlane
let controller: ServerProcess
let embedded: ApiServer
let ours: ApiClient
beforeAll(async () => {
  cluster = await startControlPlane()
  const kubeconfig = await cluster.writeKubeconfig({ token: adminToken })
  const log = join(cluster.folder, 'mirroring.log')
  controller = new ServerProcess(
    'endpointslice-mirroring',
    await buildProgram('endpointslice-mirroring'),
    [kubeconfig],
    log,
  )
  embedded = await startApiServer({ resources: allResources, clock: systemClock, log: silentLogger })
  ours = new ApiClient(fetchRequests(embedded.url))
})
afterAll(async () => {
  await controller?.[Symbol.asyncDispose]()
  await embedded?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const services = '/api/v1/namespaces/default/services'
const endpoints = '/api/v1/namespaces/default/endpoints'
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

/** All slices of the Service, without what differs from server to server, in an order of their own. */
async function slicesOf(client: ApiClient, service: string): Promise<readonly JsonObject[]> {
  const list = await client.expect(200, 'GET', `${slices}?labelSelector=kubernetes.io/service-name%3D${service}`)
  const plain = (list['items'] as JsonObject[]).map(({ metadata, endpoints: found, ports, addressType }) => {
    const { labels, annotations, ownerReferences } = metadata as JsonObject
    const owners = (ownerReferences as JsonObject[]).map(({ uid: _uid, ...owner }) => owner)
    return {
      labels,
      annotations,
      owners,
      addressType,
      endpoints: inOrder(found as JsonObject[]),
      ports: inOrder(ports as JsonObject[]),
    }
  })
  return inOrder(plain)
}

function inOrder(items: readonly JsonObject[] | null): JsonObject[] {
  return (items ?? []).toSorted((left, right) =>
    JSON.stringify(sorted(left)) < JSON.stringify(sorted(right)) ? -1 : 1,
  )
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}

const both = () => [ours, cluster.client]

async function onBoth(method: string, path: string, body?: unknown): Promise<void> {
  for (const client of both()) {
    const { status, text } = await client.request(method, path, body === undefined ? {} : { body })
    expect(status, `${method} ${path}: ${text}`).toBeLessThan(300)
  }
}

/** Both settle at the same slices, of which there are so many. */
async function assertSameOnBoth(service: string, count: number): Promise<void> {
  await vi.waitFor(
    async () => {
      const [mine, theirs] = await Promise.all(both().map((client) => slicesOf(client, service)))
      expect(theirs).toHaveLength(count)
      expect(mine).toEqual(theirs)
    },
    { timeout: 20_000, interval: 200 },
  )
}

const http = { name: 'http', port: 80 }
const admin = { name: 'admin', port: 81, protocol: 'UDP', appProtocol: 'kubernetes.io/h2c' }
const target = (name: string) => ({ kind: 'Pod', namespace: 'default', name, uid: `uid-${name}` })
const many = Array.from({ length: 1003 }, (_, i) => ({ ip: `10.1.${i >> 8}.${i & 255}` }))

const cases: Record<string, { spec?: object; metadata?: object; subsets: unknown; slices: number }> = {
  plain: { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 5432 }] }], slices: 1 },
  'two-families': { subsets: [{ addresses: [{ ip: '192.0.2.1' }, { ip: 'fd00:7::1' }], ports: [http] }], slices: 2 },
  'not-ready': {
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], notReadyAddresses: [{ ip: '192.0.2.2' }], ports: [http] }],
    slices: 1,
  },
  'several-subsets': {
    subsets: [
      { addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }], ports: [http] },
      { addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }], ports: [admin] },
      { addresses: [{ ip: '192.0.2.3' }], ports: [http] },
      { notReadyAddresses: [{ ip: '192.0.2.3' }], ports: [http] },
      { addresses: [{ ip: '192.0.2.4' }], ports: [http, admin] },
    ],
    slices: 2,
  },
  'without-ports': { subsets: [{ addresses: [{ ip: '192.0.2.1' }] }], slices: 1 },
  'without-addresses': { subsets: [], slices: 0 },
  details: {
    metadata: {
      labels: { app: 'db', 'kubernetes.io/service-name': 'other' },
      annotations: { note: 'x', 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
    },
    subsets: [
      {
        addresses: [
          { ip: '192.0.2.1', nodeName: 'n1', hostname: 'a', targetRef: target('a') },
          { ip: '192.0.2.1', nodeName: 'n1', targetRef: target('b') },
        ],
        ports: [http],
      },
    ],
    slices: 1,
  },
  'more-than-fit': { subsets: [{ addresses: many, ports: [http] }], slices: 1 },
  'with-selector': {
    spec: { selector: { app: 'x' } },
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [http] }],
    slices: 0,
  },
  skipped: {
    metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [http] }],
    slices: 0,
  },
  'not-skipped': {
    metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'yes' } },
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [http] }],
    slices: 1,
  },
  leader: {
    metadata: { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } },
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [http] }],
    slices: 0,
  },
}

describe('the embedded server mirrors Endpoints as the controller of a cluster does', () => {
  // One that is mirrored by both, made last, tells that those before it have been looked at.
  test.each(Object.entries(cases))('%s', async (name, { spec = {}, metadata = {}, subsets, slices: count }) => {
    await onBoth('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ port: 80 }], ...spec },
    })
    await onBoth('POST', endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata: { ...metadata, name }, subsets })
    if (count === 0) {
      const witness = `${name}-witness`
      await onBoth('POST', services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: witness },
        spec: { ports: [{ port: 80 }] },
      })
      await onBoth('POST', endpoints, {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: witness },
        subsets: [{ addresses: [{ ip: '192.0.2.9' }], ports: [http] }],
      })
      await assertSameOnBoth(witness, 1)
    }
    await assertSameOnBoth(name, count)
  })

  test('when they change, when the Service changes, and when they go', async () => {
    const name = 'changing'
    const subset = (...ips: string[]) => ({ addresses: ips.map((ip) => ({ ip })), ports: [http] })
    const put = (subsets: unknown, metadata = {}) =>
      onBoth('PUT', `${endpoints}/${name}`, {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name, ...metadata },
        subsets,
      })
    await onBoth('POST', endpoints, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name },
      subsets: [subset('192.0.2.1')],
    })
    await onBoth('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ port: 80 }] },
    })
    await assertSameOnBoth(name, 1)
    await put([subset('192.0.2.1', '192.0.2.2', 'fd00:7::1')])
    await assertSameOnBoth(name, 2)
    await put([{ ...subset('192.0.2.2'), ports: [admin] }], { labels: { a: 'b' }, annotations: { c: 'd' } })
    await assertSameOnBoth(name, 1)
    await put([{ ...subset('192.0.2.2'), ports: [admin] }], { labels: { a: 'c' } })
    await assertSameOnBoth(name, 1)
    await put([])
    await assertSameOnBoth(name, 0)
    await put([subset('192.0.2.1')])
    await assertSameOnBoth(name, 1)
    await onBoth('DELETE', `${endpoints}/${name}`)
    await assertSameOnBoth(name, 0)
    await onBoth('POST', endpoints, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name },
      subsets: [subset('192.0.2.1')],
    })
    await assertSameOnBoth(name, 1)
    await onBoth('DELETE', `${services}/${name}`)
    await assertSameOnBoth(name, 0)
  })
})
