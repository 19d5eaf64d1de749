/**
 * The role in deploy is what Fairlead needs: it runs with the token of the role's service account, nothing is refused,
 * and each right is used.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { configOf, containersOf, grantsOf, manifestsIn, parseManifests } from '../testing/manifests.ts'
import type { Manifest } from '../testing/manifests.ts'
import { manifestsFolder } from '../../tools/deploy/places.ts'
import { boundToken } from './testing/bound-token.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { freePorts } from './testing/free-ports.ts'
import { helmOf, withChart } from './testing/helm.ts'
import { kubectlOf } from './testing/kubectl.ts'
import { ServerProcess } from './testing/server-process.ts'

const program = new URL('../../bin/fairlead.js', import.meta.url).pathname
const user = 'system:serviceaccount:kube-system:fairlead'
const soon = { timeout: 15_000, interval: 100 }

/** What a process that may patch Nodes could do with one, beside its taints. An owner that does not exist has it deleted. */
const beyondTheTaint: readonly { readonly metadata?: object; readonly spec?: object }[] = [
  { metadata: { labels: { a: 'b' } } },
  { metadata: { labels: { pool: null } } },
  { metadata: { annotations: { a: 'b' } } },
  { metadata: { finalizers: ['example.com/stay'] } },
  { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'gone', uid: 'gone' }] } },
  { spec: { unschedulable: true } },
  { spec: { providerID: 'example://machine' } },
  { spec: { podCIDR: '10.64.0.0/24', podCIDRs: ['10.64.0.0/24'] } },
]

let cluster: ControlPlane
let admin: string
beforeAll(async () => {
  // Without streaming lists, as on older servers, so that the right to list is used as well.
  cluster = await startControlPlane({ WatchList: false })
  admin = await cluster.writeKubeconfig({ token: adminToken })
  await cluster.client.expect(201, 'POST', '/api/v1/nodes', {
    metadata: { name: 'node-a', labels: { pool: 'a' } },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.10' }] },
  })
})
afterAll(() => cluster[Symbol.asyncDispose]())

describe('one process', () => {
  const manifests = manifestsIn(join(manifestsFolder, 'userspace'))

  test('is refused nothing, and uses each right that it has', async () => {
    const file = await deployed('userspace', manifests)
    const before = (await cluster.seenRequests()).length
    const config = await writeConfig(manifests, file)
    const flags = [`--config=${config}`, '--hostname-override=node-a', '--debug-socket=none']
    const doctor = spawnSync(process.execPath, [program, 'doctor', '--before-start', ...flags], { encoding: 'utf8' })
    expect(doctor.stdout).not.toMatch(/api-right/)

    // An Event that happens again is counted up: each sync tries to open a port that is taken.
    const port = await makeService('first', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
    await using _taken = await listening(port)
    const log = join(cluster.folder, 'daemon.log')
    await using daemon = new ServerProcess('fairlead', process.execPath, [program, ...flags], log)
    await daemon.waitUntil('refused the port', async () => (await failuresIn(log)) > 0, 30_000)
    await makeService('second', {})
    await daemon.waitUntil('refused the port again', async () => (await failuresIn(log)) > 1, 30_000)
    await daemon.stop('SIGTERM')
    await expect.poll(async () => used(before), soon).toEqual(grantsOf(manifests))
    expect(await refused(before)).toEqual([])
  })
})

describe('core and backends', () => {
  const manifests = manifestsIn(join(manifestsFolder, 'core-and-backends'))

  test('the core is refused nothing, and uses each right that it has', async () => {
    const file = await deployed('core-and-backends', manifests)
    const before = (await cluster.seenRequests()).length
    const { args = [] } = containersOf(manifests).find(({ name }) => name === 'core') ?? {}
    const { metrics } = await freePorts('metrics')
    const here = args.map((word) =>
      word
        .replace('unix:///run/fairlead', `unix://${cluster.folder}`)
        .replace(/^--exportMetrics=.*/, `--exportMetrics=127.0.0.1:${metrics}`),
    )
    const words = [program, ...here, `--kubeconfig=${file}`]
    await using core = new ServerProcess('core', process.execPath, words, join(cluster.folder, 'core.log'))
    await core.waitUntil('in sync', async () => (await fetch(`http://127.0.0.1:${metrics}/healthz`)).ok)
    await expect.poll(async () => used(before), soon).toEqual(grantsOf(manifests))
    expect(await refused(before)).toEqual([])
  })
})

test('with removeNotReadyTaint it changes the taint of its own Node, and nothing else of any Node', async () => {
  const helm = await helmOf(admin, cluster.folder)
  const { output } = await helm('template', 'fairlead', ...withChart(['apiServer.host=x', 'removeNotReadyTaint=true']))
  const manifests = parseManifests(output)
  const file = join(cluster.folder, 'chart.yaml')
  await writeFile(file, output)
  kubectlOf(admin)('apply', '-f', file)
  await cluster.client.expect(201, 'POST', '/api/v1/nodes', { metadata: { name: 'node-b' } })
  const others = [{ key: 'example.com/busy', effect: 'NoSchedule' }]
  await setTaints('node-a', [{ key: 'fairlead.dev/not-ready', effect: 'NoSchedule' }, ...others])
  const before = (await cluster.seenRequests()).length
  const token = await tokenOf(manifests)
  const pod = cluster.clientAs(token)

  // A policy takes a moment to be in force.
  const refusal = async (node: string, patch: object) => {
    const path = `/api/v1/nodes/${node}?dryRun=All`
    const { status, json } = await pod.patch(path, 'application/merge-patch+json', patch)
    return status === 403 ? String(json['message']) : `${status}, not refused as forbidden`
  }
  await expect
    .poll(() => refusal('node-b', { metadata: { labels: { a: 'b' } } }), soon)
    .toContain('the Node that it runs on, and no other')
  expect(await refusal('node-a', { spec: { taints: [] } })).toContain('fairlead.dev/not-ready, and no other')
  for (const patch of beyondTheTaint)
    expect([
      patch,
      await refusal('node-a', { ...patch, spec: { ...('spec' in patch && patch.spec), taints: others } }),
    ]).toEqual([patch, expect.stringContaining('the taints of its Node, and nothing else')])
  expect(await refusal('node-a', { spec: { taints: others } })).toBe('200, not refused as forbidden')

  const config = await writeConfig(manifests, await cluster.writeKubeconfig({ token }), { mode: 'userspace' })
  const words = [program, `--config=${config}`, '--hostname-override=node-a', '--debug-socket=none']
  const log = join(cluster.folder, 'taint.log')
  await using _daemon = new ServerProcess('fairlead', process.execPath, [...words, '--remove-not-ready-taint'], log)
  const taints = async () => (await cluster.client.expect(200, 'GET', '/api/v1/nodes/node-a'))['spec'] as object
  await expect.poll(taints, soon).toMatchObject({ taints: others })
  expect(grantsOf(manifests)).toContain('patch nodes')
  expect(await used(before)).toContain('patch nodes')
})

test('a right that is taken away is missed', async () => {
  const manifests = manifestsIn(join(manifestsFolder, 'userspace'))
  const file = await deployed('userspace', manifests)
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/fairlead'
  const { rules, ...rest } = await cluster.client.expect(200, 'GET', role)
  const fewer = (rules as NonNullable<Manifest['rules']>).filter(({ resources }) => !resources.includes('servicecidrs'))
  await cluster.client.expect(200, 'PUT', role, { ...rest, rules: fewer })
  const before = (await cluster.seenRequests()).length
  const config = await writeConfig(manifests, file)
  const words = [program, `--config=${config}`, '--hostname-override=node-a', '--debug-socket=none']
  await using _daemon = new ServerProcess('fairlead', process.execPath, words, join(cluster.folder, 'fewer.log'))
  await expect.poll(async () => refused(before), soon).toContain('watch servicecidrs.networking.k8s.io')
})

/** Applies a folder; returns the kubeconfig of a pod of its DaemonSet. */
async function deployed(folder: string, manifests: readonly Manifest[]): Promise<string> {
  kubectlOf(admin)('apply', '-k', join(manifestsFolder, folder))
  return cluster.writeKubeconfig({ token: await tokenOf(manifests) })
}

/** Of a pod of the DaemonSet, on node-a. */
async function tokenOf(manifests: readonly Manifest[]): Promise<string> {
  const spec = manifests.find(({ kind }) => kind === 'DaemonSet')?.spec?.template.spec
  if (spec === undefined) throw new Error('there is no DaemonSet')
  const { length: pods } = (await cluster.client.expect(200, 'GET', '/api/v1/pods'))['items'] as readonly unknown[]
  return boundToken(cluster, `fairlead-${pods}`, { ...spec, nodeName: 'node-a' })
}

/** The configuration of the manifests, for a daemon that stays on loopback. */
async function writeConfig(manifests: readonly Manifest[], kubeconfig: string, more: object = {}): Promise<string> {
  const { health, metrics } = await freePorts('health', 'metrics')
  const here = {
    clientConnection: { kubeconfig },
    bindAddress: '127.0.0.1',
    healthzBindAddress: `127.0.0.1:${health}`,
    metricsBindAddress: `127.0.0.1:${metrics}`,
  }
  const config = join(cluster.folder, 'config.yaml')
  await writeFile(config, stringify({ ...(parse(configOf(manifests)) as object), ...here, ...more }))
  return config
}

/** Returns its healthCheckNodePort. */
async function makeService(name: string, spec: object): Promise<number> {
  const { port } = await freePorts('port')
  const made = await cluster.client.expect(201, 'POST', '/api/v1/namespaces/default/services', {
    metadata: { name },
    spec: { ports: [{ port }], ...spec },
  })
  return (made['spec'] as { readonly healthCheckNodePort?: number }).healthCheckNodePort ?? 0
}

async function listening(port: number): Promise<AsyncDisposable> {
  const server = createServer((socket) => socket.destroy()).listen(port, '0.0.0.0')
  await once(server, 'listening')
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** What the service account did since then, in the words of a role. */
async function used(since: number): Promise<ReadonlySet<string>> {
  return new Set(
    (await asked(since)).filter(({ code }) => code < 400).map(({ verb, resource }) => `${verb} ${resource}`),
  )
}

async function refused(since: number): Promise<readonly string[]> {
  return (await asked(since)).filter(({ code }) => code === 403).map(({ verb, resource }) => `${verb} ${resource}`)
}

/** Everybody who is known may ask for the version, and for his own rights. */
async function asked(since: number) {
  const all = (await cluster.seenRequests()).slice(since).filter((request) => request.user === user)
  return all.filter(({ resource }) => resource !== '' && !resource.startsWith('selfsubjectaccessreviews'))
}

async function failuresIn(log: string): Promise<number> {
  return (await readFile(log, 'utf8')).split('health-check port not opened').length - 1
}

async function setTaints(node: string, taints: readonly object[]): Promise<void> {
  const { status } = await cluster.client.patch(`/api/v1/nodes/${node}`, 'application/merge-patch+json', {
    spec: { taints },
  })
  expect(status).toBe(200)
}
