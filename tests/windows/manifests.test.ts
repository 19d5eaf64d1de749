/**
 * The containers of deploy/windows/manifests, run as Windows processes with the command lines, the configuration and the rights that
 * the manifests give them: they follow a real API server, and program the stand-ins for HNS and netsh.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { adminToken, startControlPlane } from '../cluster/testing/control-plane.ts'
import type { ControlPlane } from '../cluster/testing/control-plane.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { eventually } from './testing/eventually.ts'
import { containersOf, hasKubectl } from '../testing/manifests.ts'
import { folderOf, manifestsOf } from '../testing/windows-manifests.ts'
import type { Variant } from '../testing/windows-manifests.ts'
import { networkName, StandInHns } from './testing/stand-in-hns.ts'
import { StandInNetsh } from './testing/stand-in-netsh.ts'
import { startFairlead } from './testing/windows-daemon.ts'
import type { WindowsProcess } from './testing/windows-process.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

const hasGo = spawnSync('go', ['version']).status === 0
const missing = missingTools ?? (hasKubectl && hasGo ? undefined : ' (needs kubectl, and Go for a real API server)')

describe.skipIf(missing !== undefined)(`on Windows${missing ?? ''}`, { timeout: 180_000 }, () => {
  let cluster: ControlPlane
  beforeAll(async () => {
    cluster = await startControlPlane()
    await cluster.client.expect(201, 'POST', '/api/v1/nodes', {
      metadata: { name: 'win-1' },
      status: { addresses: [{ type: 'InternalIP', address: '192.0.2.7' }] },
    })
    await cluster.client.expect(201, 'POST', '/api/v1/namespaces/default/services', {
      metadata: { name: 'web' },
      spec: { type: 'NodePort', clusterIP: '10.96.0.20', ports: [{ port: 80, nodePort: 30_080 }] },
    })
    await cluster.client.expect(201, 'POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.244.2.7'], conditions: { ready: true } }],
      ports: [{ port: 8080 }],
    })
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test.each(['kernelspace', 'one-process'] as const)('the containers of variant %s program HNS', async (variant) => {
    await using hns = await StandInHns.make()
    await using pod = await Pod.start(variant, cluster, hns.env)
    const wanted = ['10.96.0.20:80 → 10.244.2.7:8080', ':30080 → 10.244.2.7:8080']
    await eventually(async () => expect([...pod.failures, ...(await hns.loadBalancers())]).toEqual(wanted))
    expect((await fetch(pod.livez)).status).toBe(200)
  })

  test('the containers of variant userspace add the addresses of Services', async () => {
    await using netsh = await StandInNetsh.make()
    await using pod = await Pod.start('userspace', cluster, netsh.env)
    await eventually(async () => expect([...pod.failures, ...(await netsh.addresses())]).toContain('10.96.0.20'))
    expect(pod.failures).toEqual([])
  })
})

/** The containers of a variant, as processes of this Windows. */
class Pod implements AsyncDisposable {
  readonly livez: string
  readonly #mountPoint: TemporaryFolder
  readonly #processes: readonly WindowsProcess[]

  private constructor(livez: string, mountPoint: TemporaryFolder, processes: readonly WindowsProcess[]) {
    this.livez = livez
    this.#mountPoint = mountPoint
    this.#processes = processes
  }

  static async start(variant: Variant, cluster: ControlPlane, env: Readonly<Record<string, string>>): Promise<Pod> {
    const kubeconfig = await cluster.writeKubeconfig({ token: adminToken })
    execFileSync('kubectl', [`--kubeconfig=${kubeconfig}`, 'apply', '-k', folderOf(variant)])
    const mountPoint = await TemporaryFolder.make()
    const root = windowsPath(mountPoint.path)
    const ports = await freePorts('health', 'metrics', 'core')
    // What the machine of the test has no room for: the usual ports, and the one pipe of that name.
    const here = (text: string) =>
      text
        .replaceAll('0.0.0.0:10256', `127.0.0.1:${ports.health}`)
        .replaceAll(':10249', `:${ports.metrics}`)
        .replaceAll(':10247', `:${ports.core}`)
        .replaceAll('Administrators/fairlead', `Administrators/fairlead-${ports.core}`)
        .replaceAll('networkName: cbr0', `networkName: ${networkName}`)
        .replaceAll('%CONTAINER_SANDBOX_MOUNT_POINT%', root)
        .replace('C:\\ProgramData\\fairlead', `${root}\\state`)
        .replace('$(NODE_IP)', '192.0.2.7')
        .replace('$(NODE_NAME)', 'win-1')
    const manifests = manifestsOf(variant)
    const configuration = manifests.find(({ data }) => data?.['config.yaml'] !== undefined)?.data?.['config.yaml'] ?? ''
    mkdirSync(`${mountPoint.path}/etc/fairlead`, { recursive: true })
    await mountPoint.write('etc/fairlead/config.yaml', here(configuration))
    await writeServiceAccount(cluster, mountPoint)
    const { hostname, port } = new URL(cluster.url)
    const ofPod = {
      CONTAINER_SANDBOX_MOUNT_POINT: root,
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      NODE_NAME: 'win-1',
    }
    const started = containersOf(manifests).map(({ args }) =>
      startFairlead(args.map(here), { env: { ...ofPod, ...env }, timeLimitMs: 150_000 }),
    )
    return new Pod(`http://127.0.0.1:${ports.health}/livez`, mountPoint, await Promise.all(started))
  }

  /** What those have said that have ended. */
  get failures(): readonly string[] {
    return this.#processes.flatMap(({ isRunning, stdout, stderr }) => (isRunning ? [] : [stdout + stderr]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const container of this.#processes) await container[Symbol.asyncDispose]()
    await this.#mountPoint[Symbol.asyncDispose]()
  }
}

async function writeServiceAccount(cluster: ControlPlane, mountPoint: TemporaryFolder): Promise<void> {
  const account = '/api/v1/namespaces/kube-system/serviceaccounts/fairlead-windows'
  const made = await cluster.client.expect(201, 'POST', `${account}/token`, { spec: { expirationSeconds: 3600 } })
  const folder = 'var/run/secrets/kubernetes.io/serviceaccount'
  mkdirSync(`${mountPoint.path}/${folder}`, { recursive: true })
  await mountPoint.write(`${folder}/token`, (made['status'] as { token: string }).token)
  copyFileSync(cluster.authority.certFile, `${mountPoint.path}/${folder}/ca.crt`)
}
