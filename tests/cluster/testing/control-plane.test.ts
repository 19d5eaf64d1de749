import { get as httpsGet } from 'node:https'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane } from './control-plane.ts'
import type { ControlPlane } from './control-plane.ts'

describe('the control plane of the cluster tests', () => {
  let cluster: ControlPlane
  beforeAll(async () => {
    cluster = await startControlPlane()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('is a real Kubernetes with both IP families', async () => {
    const version = await cluster.client.expect(200, 'GET', '/version')
    expect(version['gitVersion']).toMatch(/^v1\.36\./)
    const cidr = await cluster.client.expect(200, 'GET', '/apis/networking.k8s.io/v1/servicecidrs/kubernetes')
    expect(cidr['spec']).toEqual({ cidrs: ['10.96.0.0/16', 'fd00:10:96::/112'] })
  })

  test('keeps its objects and its address when the API server restarts', async () => {
    await createNamespace(cluster, 'kept')
    await cluster.stopApiServer()
    await expect(cluster.client.request('GET', '/readyz')).rejects.toThrow('ECONNREFUSED')
    await cluster.startApiServer()
    await cluster.client.expect(200, 'GET', '/api/v1/namespaces/kept')
  })

  test('knows other tokens after a restart, and gives them no rights', async () => {
    const alice = cluster.clientAs('alice-token')
    await alice.expect(401, 'GET', '/api/v1/services')
    await cluster.setTokens({ 'alice-token': { user: 'alice', groups: ['people'] } })
    await cluster.stopApiServer('SIGTERM')
    await cluster.startApiServer()
    const refused = await alice.expect(403, 'GET', '/api/v1/services')
    expect(refused['message']).toContain('User "alice" cannot list')
  })

  test('accepts certificates of its authority', async () => {
    const client = await cluster.authority.client('carol', 'system:masters')
    const status = await new Promise<number | undefined>((resolve, reject) => {
      Promise.all([cluster.authority.certFile, client.certFile, client.keyFile].map((file) => readFile(file)))
        .then(([ca, cert, key]) =>
          httpsGet(new URL('/api/v1/nodes', cluster.url), { ca, cert, key }, (response) => {
            response.resume()
            resolve(response.statusCode)
          }).once('error', reject),
        )
        .catch(reject)
    })
    expect(status).toBe(200)
  })

  test('has forgotten old versions when etcd was compacted and the API server restarted', async () => {
    const before = await cluster.client.expect(200, 'GET', '/api/v1/namespaces')
    const version = String(before['metadata'].resourceVersion)
    await createNamespace(cluster, 'newer')
    await cluster.etcd.compact()
    // The watch cache of a running server still remembers.
    await cluster.stopApiServer()
    await cluster.startApiServer()
    const path = `/api/v1/namespaces?resourceVersion=${version}&resourceVersionMatch=Exact`
    const refused = await cluster.client.expect(410, 'GET', path)
    expect(refused['reason']).toBe('Expired')
  })
})

async function createNamespace(cluster: ControlPlane, name: string): Promise<void> {
  await cluster.client.expect(201, 'POST', '/api/v1/namespaces', { metadata: { name } })
}
