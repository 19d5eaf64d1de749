import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { resourceQueries } from '../../src/sources/kube/reflector/resource-query.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { CuttableLink } from './testing/cuttable-link.ts'
import { Mirrors } from './testing/mirrors.ts'

/** Generous: a reflector backs off for seconds after an outage, and the machine may be busy. */
const soon = { timeout: 40_000, interval: 50 }
const queries = resourceQueries('node-a')

let cluster: ControlPlane
beforeAll(async () => {
  cluster = await startControlPlane()
  await cluster.client.expect(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'demo' } })
})
afterAll(() => cluster[Symbol.asyncDispose]())
beforeEach(async () => {
  for (const name of await serviceNames()) await deleteService(name)
})

test('the objects arrive in one streaming list each, with the selectors of kube-proxy, over one connection', async () => {
  await createService('web')
  await using link = await CuttableLink.to(cluster.url)
  await using mirrors = await follow(link, queries)
  for (const kind of ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] as const) {
    await expect
      .poll(() => mirrors.of(kind).status, soon)
      .toMatchObject({ hasSynced: true, lists: 1, watches: 1, errors: 0 })
  }
  expect(mirrors.of('Service').names).toEqual(['kubernetes', 'web'])
  // A fresh server still works on its own Service, which then arrives as a change.
  const deliveries = mirrors.of('Service').deliveries.filter((delivery) => delivery !== 'upsert kubernetes')
  expect(deliveries).toEqual(['replace'])
  expect(link.connections).toBe(1)

  const asked = (await cluster.seenRequests()).filter(({ userAgent }) => userAgent.includes('0.0.0-test'))
  expect(asked.map(({ path }) => new URL(path, cluster.url)).map(({ pathname, searchParams }) => ({
    pathname,
    labels: searchParams.get('labelSelector'),
    fields: searchParams.get('fieldSelector'),
    streams: searchParams.get('sendInitialEvents'),
  }))).toEqual(
    expect.arrayContaining([
      { pathname: '/api/v1/nodes', labels: null, fields: 'metadata.name=node-a', streams: 'true' },
      {
        pathname: '/api/v1/services',
        labels: '!service.kubernetes.io/service-proxy-name',
        fields: 'spec.clusterIP!=None',
        streams: 'true',
      },
      {
        pathname: '/apis/discovery.k8s.io/v1/endpointslices',
        labels: '!service.kubernetes.io/headless',
        fields: null,
        streams: 'true',
      },
      { pathname: '/apis/networking.k8s.io/v1/servicecidrs', labels: null, fields: null, streams: 'true' },
    ]),
  ) // prettier-ignore
})

test('the ServiceCIDR of the cluster has both families', async () => {
  await using mirrors = await follow(cluster, { ServiceCIDR: queries.ServiceCIDR })
  await expect.poll(() => mirrors.of('ServiceCIDR').names, soon).toEqual(['kubernetes'])
  expect(mirrors.of('ServiceCIDR').objectsByName.get('kubernetes')).toMatchObject({
    spec: { cidrs: ['10.96.0.0/16', 'fd00:10:96::/112'] },
  })
})

test('creations, changes and deletions arrive in order', async () => {
  await using mirrors = await follow(cluster, { Service: queries.Service })
  await synced(mirrors)
  await createService('web')
  await patchService('web', { spec: { internalTrafficPolicy: 'Local' } })
  await createService('api')
  await deleteService('web')
  await expect
    .poll(() => mirrors.of('Service').deliveries, soon)
    .toEqual(['replace', 'upsert web', 'upsert web', 'upsert api', 'remove web'])
})

test('a Service that another proxy takes over is removed, and comes back when it is given back', async () => {
  await createService('web')
  await createService('headless', { clusterIP: 'None' })
  await using mirrors = await follow(cluster, { Service: queries.Service })
  await synced(mirrors)
  expect(mirrors.of('Service').names).toEqual(['kubernetes', 'web'])
  await patchService('web', { metadata: { labels: { 'service.kubernetes.io/service-proxy-name': 'other' } } })
  await patchService('web', { metadata: { labels: { 'service.kubernetes.io/service-proxy-name': null } } })
  await expect.poll(() => mirrors.of('Service').deliveries, soon).toEqual(['replace', 'remove web', 'upsert web'])
})

test('what happened while the connection was cut is caught up on, without a second list', async () => {
  await createService('gone')
  await using link = await CuttableLink.to(cluster.url)
  await using mirrors = await follow(link, { Service: queries.Service })
  await synced(mirrors)
  link.cut()
  await deleteService('gone')
  await createService('new')
  await expect.poll(() => mirrors.of('Service').status.errors, soon).toBeGreaterThan(0)
  link.mend()
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['kubernetes', 'new'])
  expect(mirrors.of('Service').deliveries).toEqual(['replace', 'remove gone', 'upsert new'])
})

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'an API server that ends with %s and comes back is followed again',
  async (signal) => {
    await createService('web')
    await using mirrors = await follow(cluster, { Service: queries.Service })
    await synced(mirrors)
    await cluster.stopApiServer(signal)
    await expect.poll(() => mirrors.of('Service').status.isConnected, soon).toBe(false)
    expect(mirrors.of('Service').names).toEqual(['kubernetes', 'web'])
    await cluster.startApiServer()
    await createService('after')
    await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['after', 'kubernetes', 'web'])
    await expect
      .poll(() => mirrors.of('Service').status, soon)
      .toMatchObject({ isConnected: true, lastError: undefined })
  },
)

test('history that is gone from etcd means a new list, and nothing is missed', async () => {
  await createService('gone')
  await createService('kept')
  await using link = await CuttableLink.to(cluster.url)
  await using mirrors = await follow(link, { Service: queries.Service })
  await synced(mirrors)
  link.cut()
  await deleteService('gone')
  await createService('new')
  await cluster.etcd.compact()
  // A running server could still answer from its watch cache.
  await cluster.stopApiServer()
  await cluster.startApiServer()
  link.mend()
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['kept', 'kubernetes', 'new'])
  expect(mirrors.of('Service').deliveries).toEqual(['replace', 'replace'])
  expect(mirrors.of('Service').status.lists).toBe(2)
})

test('the copy equals the server after a storm of changes with cuts in between', async () => {
  await using link = await CuttableLink.to(cluster.url)
  await using mirrors = await follow(link, { Service: queries.Service })
  await synced(mirrors)
  for (let round = 0; round < 60; round += 1) {
    const name = `storm-${round % 7}`
    const created = await cluster.client.request('POST', services, { body: service(name, {}) })
    if (created.status === 409) await deleteService(name)
    if (round % 20 === 10) link.cut()
    if (round % 20 === 15) link.mend()
  }
  const expected = [...(await serviceNames()), 'kubernetes'].sort()
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(expected)
  expect(mirrors.of('Service').status.lists).toBe(1)
})

const services = '/api/v1/namespaces/demo/services'

async function follow<Kind extends keyof typeof queries>(
  server: { readonly url: string },
  followed: Readonly<Pick<typeof queries, Kind>>,
): Promise<Mirrors<Kind>> {
  const kubeconfig = await cluster.writeKubeconfig({ token: adminToken }, server.url)
  return Mirrors.start<Kind>({ kubeconfig }, followed)
}

async function synced(mirrors: Mirrors<'Service'>): Promise<void> {
  await expect
    .poll(() => mirrors.of('Service').status.isConnected && mirrors.of('Service').status.hasSynced, soon)
    .toBe(true)
}

function service(name: string, spec: object): object {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }
}

async function createService(name: string, spec: object = {}): Promise<void> {
  await cluster.client.expect(201, 'POST', services, service(name, spec))
}

async function patchService(name: string, patch: object): Promise<void> {
  const { status } = await cluster.client.patch(`${services}/${name}`, 'application/merge-patch+json', patch)
  expect(status).toBe(200)
}

async function deleteService(name: string): Promise<void> {
  await cluster.client.expect(200, 'DELETE', `${services}/${name}`)
}

async function serviceNames(): Promise<readonly string[]> {
  const { items } = await cluster.client.expect(200, 'GET', services)
  return (items as readonly { metadata: { name: string } }[]).map((item) => item.metadata.name)
}
