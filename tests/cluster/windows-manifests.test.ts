/** A real API server takes the manifests of deploy/windows, and their role is what Fairlead needs: no less, no more. */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptanceObjects } from '../testing/acceptance-objects.ts'
import { grantsOf } from '../testing/manifests.ts'
import { folderOf, manifestsOf, variants } from '../testing/windows-manifests.ts'
import type { Variant } from '../testing/windows-manifests.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { FairleadDaemon } from './testing/fairlead-daemon.ts'
import { freePorts } from './testing/free-ports.ts'
import { ServerProcess } from './testing/server-process.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const account = '/api/v1/namespaces/kube-system/serviceaccounts/fairlead-windows'
const user = 'system:serviceaccount:kube-system:fairlead-windows'

let cluster: ControlPlane
let admin: string
beforeAll(async () => {
  cluster = await startControlPlane()
  admin = await cluster.writeKubeconfig({ token: adminToken })
  await cluster.client.expect(201, 'POST', '/api/v1/nodes', {
    metadata: { name: 'node-a' },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.10' }] },
  })
})
afterAll(() => cluster[Symbol.asyncDispose]())

describe.each(variants)('variant %s', (variant) => {
  test('is applied, and a second time without a change', () => {
    const first = kubectl('apply', '-k', folderOf(variant))
    expect(first).toMatch(/^daemonset\.apps\/fairlead-windows (created|configured)$/m)
    const second = kubectl('apply', '-k', folderOf(variant)).trim().split('\n')
    expect(second.filter((line) => !line.endsWith(' unchanged'))).toEqual([])
  })

  test('makes pods that the API server takes as Windows pods with host processes', async () => {
    const template = manifestsOf(variant).find(({ kind }) => kind === 'DaemonSet')?.spec?.template
    const pod = { metadata: { name: 'tried' }, spec: template?.spec }
    const made = await cluster.client.expect(201, 'POST', '/api/v1/namespaces/kube-system/pods?dryRun=All', pod)
    expect(made['spec']).toMatchObject({
      hostNetwork: true,
      os: { name: 'windows' },
      priority: 2_000_001_000,
      securityContext: { windowsOptions: { hostProcess: true } },
    })
  })

  test('needs no more than its role grants, and all of it', async () => {
    kubectl('apply', '-k', folderOf(variant))
    const before = (await cluster.seenRequests()).length
    await using program = await start(variant)
    void program
    const granted = grantsOf(manifestsOf(variant))
    const asked = async () => (await cluster.seenRequests()).slice(before).filter((request) => request.user === user)
    // A refused request is in the log of the server too, so it would be found here.
    await expect
      .poll(async () => new Set((await asked()).map(({ resource }) => resource)), { timeout: 40_000 })
      .toEqual(new Set([...granted].map((grant) => grant.split(' ')[1])))
    for (const { verb, resource } of await asked()) expect(granted).toContain(`${verb} ${resource}`)
  })
})

test('the pods and Services of the acceptance script are taken, too', async () => {
  const file = join(cluster.folder, 'application.yaml')
  await writeFile(file, acceptanceObjects())
  kubectl('create', 'namespace', 'acceptance')
  const made = kubectl('apply', '-n', 'acceptance', '-f', file).trim().split('\n')
  // One pod is made a second time, after it was deleted.
  const names = [...new Set(made.map((line) => line.split(' ')[0] ?? ''))]
  expect(names.filter((name) => name.startsWith('service/')).length).toBe(5)
  expect(names.filter((name) => name.startsWith('pod/')).length).toBe(6)
  const outside = await cluster.client.expect(200, 'GET', '/api/v1/namespaces/acceptance/services/outside')
  expect(outside['spec']).toMatchObject({ type: 'NodePort', externalTrafficPolicy: 'Local' })
})

function kubectl(...args: readonly string[]): string {
  return execFileSync('kubectl', [`--kubeconfig=${admin}`, ...args], { encoding: 'utf8' })
}

/** What of the variant talks to the API server, with the rights of its service account, until it is in sync. */
async function start(variant: Variant): Promise<AsyncDisposable> {
  const made = await cluster.client.expect(201, 'POST', `${account}/token`, { spec: { expirationSeconds: 3600 } })
  const kubeconfig = await cluster.writeKubeconfig({ token: (made['status'] as { token: string }).token })
  if (variant === 'one-process')
    return FairleadDaemon.start(cluster.folder, [`--kubeconfig=${kubeconfig}`, '--hostname-override=node-a'])
  const ports = await freePorts('api', 'metrics')
  const run = `import(${JSON.stringify(main)}).then(async ({ main }) => { process.exitCode = await main(process.argv.slice(1)) })`
  const core = new ServerProcess(
    'core',
    process.execPath,
    [
      '--import=tsx',
      `--eval=${run}`,
      '--',
      'kube',
      'to-api',
      `--kubeconfig=${kubeconfig}`,
      `--listen=tcp://127.0.0.1:${ports.api}`,
      `--exportMetrics=127.0.0.1:${ports.metrics}`,
    ],
    join(cluster.folder, 'core.log'),
  )
  await core.waitUntil('in sync', async () => (await fetch(`http://127.0.0.1:${ports.metrics}/healthz`)).ok)
  return core
}
