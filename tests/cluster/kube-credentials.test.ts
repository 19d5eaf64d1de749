import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeAccessOptions } from '../../src/sources/kube/access/kube-access.ts'
import { resourceQueries } from '../../src/sources/kube/reflector/resource-query.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { Mirrors } from './testing/mirrors.ts'
import { grantProxyRights, powerlessToken, proxyToken } from './testing/service-account.ts'

/** Longer than the pause after a refused credential, which is up to ten seconds. */
const soon = { timeout: 40_000, interval: 50 }
const { Service } = resourceQueries('node-a')

let cluster: ControlPlane
beforeAll(async () => {
  cluster = await startControlPlane()
})
afterAll(() => cluster[Symbol.asyncDispose]())

test('a client certificate proves who we are', async () => {
  const certificate = await cluster.authority.client('carol', 'system:masters')
  await using mirrors = await follow({ kubeconfig: await cluster.writeKubeconfig({ certificate }) })
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['kubernetes'])
})

test('a credential plugin proves who we are', async () => {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: adminToken },
  }
  const args = ['-e', `console.log(${JSON.stringify(JSON.stringify(credential))})`]
  const kubeconfig = await cluster.writeKubeconfig({ command: process.execPath, args })
  await using mirrors = await follow({ kubeconfig })
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['kubernetes'])
})

test('a token that nobody knows is reported, and a good one in its file heals it', async () => {
  const tokenFile = join(cluster.folder, 'wrong-token')
  await writeFile(tokenFile, 'unknown-token')
  await using mirrors = await follow({ kubeconfig: await cluster.writeKubeconfig({ tokenFile }) })
  await expect.poll(() => mirrors.of('Service').status.lastError, soon).toMatch(/Unauthorized|401/)
  expect(mirrors.of('Service').status.hasSynced).toBe(false)
  await writeFile(tokenFile, adminToken)
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['kubernetes'])
})

test('a token that is replaced in its file is used when the old one ends', async () => {
  const masters = { user: 'node-a', groups: ['system:masters'] }
  const tokenFile = join(cluster.folder, 'rotated-token')
  await writeFile(tokenFile, 'old-token')
  await cluster.setTokens({ 'old-token': masters })
  await restart()
  await using mirrors = await follow({ kubeconfig: await cluster.writeKubeconfig({ tokenFile }) })
  await expect.poll(() => mirrors.of('Service').status.isConnected, soon).toBe(true)

  await cluster.setTokens({ 'new-token': masters })
  await restart()
  await expect.poll(() => mirrors.of('Service').status.lastError, soon).toMatch(/Unauthorized|401/)
  await writeFile(tokenFile, 'new-token')
  await cluster.client.expect(201, 'POST', '/api/v1/namespaces/default/services', {
    metadata: { name: 'after' },
    spec: { ports: [{ port: 80 }] },
  })
  await expect.poll(() => mirrors.of('Service').names, soon).toEqual(['after', 'kubernetes'])
  expect(mirrors.of('Service').status.lastError).toBeUndefined()
})

test('missing rights are named in the words that an RBAC rule needs, and granting them heals it', async () => {
  const kubeconfig = await cluster.writeKubeconfig({ token: await powerlessToken(cluster, 'curious') })
  await using mirrors = await follow({ kubeconfig })
  await expect
    .poll(() => mirrors.of('Service').status.lastError, soon)
    .toMatch(/User "system:serviceaccount:default:curious" cannot (list|watch) resource "services"/)
  await grantProxyRights(cluster, 'curious')
  await expect.poll(() => mirrors.of('Service').names, soon).toContain('kubernetes')
})

test('inside a pod, the service account with the rights of kube-proxy is enough', async () => {
  const serviceAccountDir = join(cluster.folder, 'serviceaccount')
  await mkdir(serviceAccountDir)
  await copyFile(cluster.authority.certFile, join(serviceAccountDir, 'ca.crt'))
  await writeFile(join(serviceAccountDir, 'token'), await proxyToken(cluster, 'fairlead'))
  const { hostname, port } = new URL(cluster.url)
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
  await using mirrors = await Mirrors.start({ env, serviceAccountDir }, resourceQueries('node-a'))
  for (const kind of ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] as const) {
    await expect.poll(() => mirrors.of(kind).status, soon).toMatchObject({ hasSynced: true, errors: 0 })
  }
})

async function follow(access: KubeAccessOptions): Promise<Mirrors<'Service'>> {
  return Mirrors.start(access, { Service })
}

async function restart(): Promise<void> {
  await cluster.stopApiServer()
  await cluster.startApiServer()
}
