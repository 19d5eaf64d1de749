/** The whole daemon, with a real API server: what an operator runs. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { FairleadDaemon } from './testing/fairlead-daemon.ts'
import { freePorts } from './testing/free-ports.ts'
import { proxyToken } from './testing/service-account.ts'

const soon = { timeout: 40_000, interval: 50 }
/** A real API server refuses endpoints on loopback addresses. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

let cluster: ControlPlane
let kubeconfig: string
beforeAll(async () => {
  cluster = await startControlPlane()
  kubeconfig = await cluster.writeKubeconfig({ token: await proxyToken(cluster, 'fairlead') })
  await cluster.client.expect(201, 'POST', '/api/v1/nodes', {
    metadata: { name: 'node-a' },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.10' }] },
  })
})
afterAll(() => cluster[Symbol.asyncDispose]())

test.skipIf(ownAddress === undefined)(
  'a Service of the cluster is served, follows its endpoints, and outlives the API server',
  async () => {
    await using blue = await backend('blue')
    await using green = await backend('green')
    const { service: port } = await freePorts('service')
    await cluster.client.expect(201, 'POST', '/api/v1/namespaces/default/services', {
      metadata: { name: 'web' },
      spec: { ports: [{ port }] },
    })
    await cluster.client.expect(201, 'POST', slices, slice(blue.port))
    await using daemon = await FairleadDaemon.start(cluster.folder, [
      `--kubeconfig=${kubeconfig}`,
      '--hostname-override=node-a',
    ])
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/`)).text()
    await expect.poll(ask, soon).toBe('blue')

    await moveTo(green.port)
    await expect.poll(ask, soon).toBe('green')

    await cluster.stopApiServer()
    expect(await ask()).toBe('green')
    expect((await fetch(`${daemon.healthUrl}/healthz`)).status).toBe(200)

    await cluster.startApiServer()
    await moveTo(blue.port)
    await expect.poll(ask, soon).toBe('blue')
  },
)

test('the node gets an event that the proxy starts, and the process ends orderly', async () => {
  await using daemon = await FairleadDaemon.start(cluster.folder, [
    `--kubeconfig=${kubeconfig}`,
    '--hostname-override=node-a',
  ])
  await expect.poll(startingEvents, soon).toContainEqual(expect.objectContaining({ kind: 'Node', name: 'node-a' }))
  await daemon.process.stop('SIGTERM')
  expect(daemon.process.exitCode).toBe(0)
})

test('the taint that keeps pods away goes once the node is programmed, and no other; a missing right is told', async () => {
  const waiting = { key: 'fairlead.dev/not-ready' }
  const others = [
    { key: 'example.com/gpu', value: 'yes', effect: 'NoSchedule' },
    { key: 'example.com/slow', effect: 'PreferNoSchedule' },
  ] as const
  await cluster.client.expect(201, 'POST', '/api/v1/nodes', {
    metadata: { name: 'node-b' },
    spec: {
      taints: [{ ...waiting, effect: 'NoSchedule' }, others[0], { ...waiting, effect: 'NoExecute' }, others[1]],
    },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.11' }] },
  })
  await using daemon = await FairleadDaemon.start(cluster.folder, [
    `--kubeconfig=${kubeconfig}`,
    '--hostname-override=node-b',
    '--remove-not-ready-taint',
  ])
  await expect.poll(async () => (await fetch(`${daemon.healthUrl}/readyz`)).text(), soon).toBe('ok')
  await expect
    .poll(() => readFile(join(cluster.folder, 'fairlead.log'), 'utf8'), soon)
    .toContain('allow the service account to patch nodes')
  await allow('patch', 'nodes')
  await expect.poll(taintsOf('node-b'), soon).toEqual(others)
})

test('without the right to read Namespaces the verbs are named, and with it they are read', async () => {
  await using daemon = await FairleadDaemon.start(cluster.folder, [
    `--kubeconfig=${kubeconfig}`,
    '--hostname-override=node-a',
    '--external-ip-guard-namespaces',
  ])
  const log = () => readFile(join(cluster.folder, 'fairlead.log'), 'utf8')
  await expect.poll(log, soon).toContain('needs the verbs list and watch on namespaces')
  // Nothing else waits for it.
  await expect.poll(async () => (await fetch(`${daemon.healthUrl}/readyz`)).text(), soon).toBe('ok')
  await allow('list', 'namespaces')
  await allow('watch', 'namespaces')
  await expect.poll(log, soon).toMatch(/first complete list received.*kind="Namespace"/)
})

async function allow(verb: string, resource: string): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const name = `${verb}-${resource}`
  await cluster.client.expect(201, 'POST', `${rbac}/clusterroles`, {
    metadata: { name },
    rules: [{ apiGroups: [''], resources: [resource], verbs: [verb] }],
  })
  await cluster.client.expect(201, 'POST', `${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'fairlead' }],
  })
}

function taintsOf(node: string): () => Promise<unknown> {
  return async () => {
    const { spec } = await cluster.client.expect(200, 'GET', `/api/v1/nodes/${node}`)
    return (spec as { readonly taints?: unknown }).taints
  }
}

const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

function slice(port: number): object {
  return {
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [ownAddress], conditions: { ready: true } }],
    ports: [{ port }],
  }
}

async function moveTo(port: number): Promise<void> {
  await cluster.client.expect(200, 'PUT', `${slices}/web-1`, slice(port))
}

async function startingEvents(): Promise<readonly unknown[]> {
  const { items } = await cluster.client.expect(200, 'GET', '/apis/events.k8s.io/v1/events')
  const events = items as readonly { readonly reason: string; readonly regarding: unknown }[]
  return events.filter(({ reason }) => reason === 'Starting').map(({ regarding }) => regarding)
}

async function backend(answer: string): Promise<AsyncDisposable & { readonly port: number }> {
  // Connections are not kept, so that each request is placed anew.
  const server = createServer((_request, response) => response.setHeader('connection', 'close').end(answer))
  server.listen(0, ownAddress)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
