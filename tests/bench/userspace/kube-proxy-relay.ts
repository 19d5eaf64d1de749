/**
 * The userspace mode of kube-proxy 1.25, the last that had it, where KUBE_PROXY_125 names its binary. Its proxy ports
 * are open to everybody, so the relay alone can be measured as the others are: no rule leads there, and iptables is a
 * program that says yes to everything.
 */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { startApiServer, type ApiServer } from '../../../src/embedded/api-server.ts'
import { writeKubeconfig } from '../../../src/embedded/kubeconfig-file.ts'
import { allResources } from '../../../src/embedded/resources/all-resources.ts'
import { ApiClient, fetchRequests } from '../../../src/embedded/testing/api-client.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import type { BenchOptions } from '../bench-group.ts'
import { freePort, untilAccepting, type RelayProgram } from './relay-programs.ts'
import { RunningProgram } from './running-program.ts'

/** None where there is no binary. */
export function kubeProxyRelays({ progress }: BenchOptions): readonly RelayProgram[] {
  const binary = process.env['KUBE_PROXY_125']
  if (binary !== undefined) return [kubeProxyRelay(binary)]
  progress('measuring without kube-proxy 1.25: KUBE_PROXY_125 does not name its binary')
  return []
}

function kubeProxyRelay(binary: string): RelayProgram {
  return {
    name: 'kube-proxy 1.25',
    async start(endpointPort) {
      const folder = await TemporaryFolder.make()
      const api = await startApiServer({ resources: allResources, clock: systemClock, log: silentLogger })
      await fill(api, endpointPort)
      const port = await freePort()
      const relay = new RunningProgram(await command(binary, port, api, folder.path))
      const stop = async () => {
        for (const part of [relay, api, folder]) await part[Symbol.asyncDispose]()
      }
      try {
        await untilAccepting(port, 'kube-proxy')
      } catch (cause) {
        const said = await readFile(`${folder.path}/log`, 'utf8')
        await stop()
        throw new Error(`kube-proxy does not serve:\n${said}`, { cause })
      }
      return { port, process: relay, [Symbol.asyncDispose]: stop }
    },
  }
}

/** One Service, so that the one proxy port is its own. */
async function fill(api: ApiServer, endpointPort: number): Promise<void> {
  const client = new ApiClient(fetchRequests(api.url))
  const services = '/api/v1/namespaces/default/services'
  await client.expect(200, 'DELETE', `${services}/kubernetes`)
  await client.expect(201, 'POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'bench' },
    status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] },
  })
  await client.expect(201, 'POST', services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'bench' },
    spec: { ports: [{ port: 80 }] },
  })
  await client.expect(201, 'POST', '/api/v1/namespaces/default/endpoints', {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'bench' },
    subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: endpointPort }] }],
  })
}

async function command(binary: string, port: number, api: ApiServer, folder: string) {
  await mkdir(`${folder}/tools`)
  for (const tool of ['iptables', 'ip6tables']) {
    await writeFile(`${folder}/tools/${tool}`, '#!/bin/sh\n[ "$1" = --version ] && echo "iptables v1.8.9"\nexit 0\n')
    await chmod(`${folder}/tools/${tool}`, 0o755)
  }
  await writeKubeconfig(`${folder}/kubeconfig`, api.url)
  // It wants 64,000 open files, and ends where that is not allowed, unless it runs in a user namespace.
  const inNamespace = 'PATH="$0/tools:$PATH" exec unshare --user --map-root-user "$@" 2>"$0/log"'
  return [
    'sh',
    '-c',
    inNamespace,
    folder,
    binary,
    '--proxy-mode=userspace',
    '--feature-gates=KubeletInUserNamespace=true',
    `--kubeconfig=${folder}/kubeconfig`,
    '--kube-api-content-type=application/json',
    '--hostname-override=bench',
    `--proxy-port-range=${port}-${port}`,
    '--healthz-port=0',
    `--metrics-bind-address=127.0.0.1:${await freePort()}`,
    '--oom-score-adj=0',
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ] as const
}
