import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { ApiClient } from '../testing/api-client.ts'
import { serverUnderTest, serviceNamed, servicesPath } from '../testing/server-under-test.ts'

const endpointsPath = '/api/v1/namespaces/default/endpoints'
const slicesPath = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

const endpointsNamed = (name: string, ...ips: string[]) => ({
  metadata: { name },
  subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 5432 }] }],
})

interface Slice {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly generation: number }
  readonly endpoints: readonly { readonly addresses: readonly [string] }[] | null
}

async function mirrored(client: ApiClient): Promise<readonly Slice[]> {
  const selector = 'endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io'
  const list = await client.expect(200, 'GET', `${slicesPath}?labelSelector=${encodeURIComponent(selector)}`)
  return list['items'] as Slice[]
}

const addressesOf = (slices: readonly Slice[]) =>
  slices.map(({ endpoints }) => (endpoints ?? []).map(({ addresses: [ip] }) => ip).join(' ')).sort()

const eventually = (client: ApiClient, wanted: readonly string[]) =>
  vi.waitFor(async () => expect(addressesOf(await mirrored(client))).toEqual(wanted), 10_000)

describe('Endpoints of a Service without a selector', () => {
  test('have slices, which follow every change and go with them', async () => {
    await using api = await serverUnderTest()
    const { client } = api
    await client.expect(201, 'POST', servicesPath, serviceNamed('db'))
    await client.expect(201, 'POST', endpointsPath, endpointsNamed('db', '192.0.2.1', 'fd00::1'))
    await eventually(client, ['192.0.2.1', 'fd00::1'])
    const [before] = (await mirrored(client)).filter(({ endpoints }) => endpoints?.[0]?.addresses[0] === '192.0.2.1')
    await client.expect(200, 'PUT', `${endpointsPath}/db`, endpointsNamed('db', '192.0.2.1', '192.0.2.2'))
    await eventually(client, ['192.0.2.1 192.0.2.2'])
    const [after] = await mirrored(client)
    expect(after?.metadata).toMatchObject({ name: before?.metadata.name, generation: 2 })
    await client.expect(200, 'DELETE', `${endpointsPath}/db`)
    await eventually(client, [])
  })

  test('are mirrored whichever came first, until the Service gets a selector or goes', async () => {
    await using api = await serverUnderTest()
    const { client } = api
    await client.expect(201, 'POST', endpointsPath, endpointsNamed('db', '192.0.2.1'))
    await client.expect(201, 'POST', servicesPath, serviceNamed('db'))
    await eventually(client, ['192.0.2.1'])
    const patch = async (spec: object) =>
      expect((await client.patch(`${servicesPath}/db`, 'application/merge-patch+json', { spec })).status).toBe(200)
    await patch({ selector: { app: 'db' } })
    await eventually(client, [])
    await patch({ selector: null })
    await eventually(client, ['192.0.2.1'])
    await client.expect(200, 'DELETE', `${servicesPath}/db`)
    await eventually(client, [])
  })

  test('get their slices back when somebody changes or deletes them', async () => {
    await using api = await serverUnderTest()
    const { client } = api
    await client.expect(201, 'POST', servicesPath, serviceNamed('db'))
    await client.expect(201, 'POST', endpointsPath, endpointsNamed('db', '192.0.2.1'))
    await eventually(client, ['192.0.2.1'])
    const [slice] = await mirrored(client)
    const path = `${slicesPath}/${slice?.metadata.name}`
    await client.expect(200, 'PUT', path, { ...slice, endpoints: [{ addresses: ['192.0.2.9'] }] })
    await eventually(client, ['192.0.2.1'])
    await client.expect(200, 'DELETE', path)
    await eventually(client, ['192.0.2.1'])
    expect(await mirrored(client)).toHaveLength(1)
  })

  test('do not touch the slices of others, nor write without need', async () => {
    await using api = await serverUnderTest()
    const { client, server } = api
    await client.expect(201, 'POST', servicesPath, serviceNamed('db'))
    const labels = { 'kubernetes.io/service-name': 'db' }
    const own = { metadata: { name: 'own', labels }, addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.7'] }] }
    await client.expect(201, 'POST', slicesPath, own)
    await client.expect(201, 'POST', endpointsPath, endpointsNamed('db', '192.0.2.1'))
    await eventually(client, ['192.0.2.1'])
    const { revision } = server
    await client.expect(200, 'PUT', `${endpointsPath}/db`, endpointsNamed('db', '192.0.2.1'))
    await client.expect(201, 'POST', servicesPath, serviceNamed('other'))
    await client.expect(201, 'POST', endpointsPath, endpointsNamed('other', '192.0.2.3'))
    await eventually(client, ['192.0.2.1', '192.0.2.3'])
    expect(server.revision).toBe(revision + 3) // a Service, an Endpoints object and its slice
    expect((await client.expect(200, 'GET', `${slicesPath}/own`))['endpoints']).toMatchObject([
      { addresses: ['192.0.2.7'] },
    ])
  })

  test('are mirrored again after a restart, also when they changed in between', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'fairlead-mirror-'))
    try {
      {
        await using api = await serverUnderTest({ dataDir, mirrorsEndpoints: false })
        await api.client.expect(201, 'POST', servicesPath, serviceNamed('db'))
        await api.client.expect(201, 'POST', endpointsPath, endpointsNamed('db', '192.0.2.1'))
        expect(await mirrored(api.client)).toEqual([])
      }
      await using api = await serverUnderTest({ dataDir })
      await eventually(api.client, ['192.0.2.1'])
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})
