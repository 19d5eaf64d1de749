/** The layout of a HostProcess container whose volumes are below its mount point (containerd 1.6). */
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startApiServer } from '../../src/embedded/api-server.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { allResources } from '../../src/embedded/resources/all-resources.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePort } from '../../src/cli/demo/free-port.ts'
import { WindowsProcess } from './testing/windows-process.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

const fairlead = fileURLToPath(new URL('../../bin/fairlead.js', import.meta.url))

test.skipIf(missingTools !== undefined)(
  `configuration, kubeconfig and token are found below the mount point${missingTools ?? ''}`,
  { timeout: 180_000 },
  async () => {
    await using mountPoint = await TemporaryFolder.make()
    await using server = await startApiServer({
      resources: allResources,
      clock: systemClock,
      log: silentLogger,
      port: 0,
    })
    const [healthz, metrics] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')]
    const folder = `${mountPoint.path}/var/lib/kube-proxy`
    await mkdir(folder, { recursive: true })
    await writeFile(`${folder}/token`, 'of the pod')
    await writeFile(`${folder}/kubeconfig.conf`, kubeconfig(server.url))
    await writeFile(`${folder}/config.conf`, configuration(healthz, metrics))
    await using daemon = await WindowsProcess.start(fairlead, {
      args: [
        '--config=/var/lib/kube-proxy/config.conf',
        '--hostname-override=node-a',
        '--node-address=127.0.0.1',
        '-v=2',
      ],
      env: { CONTAINER_SANDBOX_MOUNT_POINT: windowsPath(mountPoint.path) },
    })
    await daemon.says(/"first complete list received".*kind="EndpointSlice"/)
    // Nobody has asked the service control manager for anything: only the flag does.
    expect(daemon.stderr).toMatch(/windowsRunAsService has no effect.*use --windows-service/)
    expect(daemon.isRunning).toBe(true)
  },
)

function kubeconfig(server: string): string {
  return `
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: {tokenFile: /var/lib/kube-proxy/token}}]`
}

function configuration(healthz: number, metrics: number): string {
  return `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: userspace
windowsRunAsService: true
clientConnection: {kubeconfig: /var/lib/kube-proxy/kubeconfig.conf}
healthzBindAddress: 127.0.0.1:${healthz}
metricsBindAddress: 127.0.0.1:${metrics}`
}
