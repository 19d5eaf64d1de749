import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { buildProgram } from '../../cluster/testing/programs.ts'
import { stateFolder } from '../cluster/hub.ts'
import type { ClusterNode } from '../cluster/node.ts'
import { sameConfiguration } from './configuration.ts'
import type { Proxy } from './proxy.ts'

/** The real one, as a process of each node. */
export function kubeProxy(mode: 'iptables' | 'nftables'): Proxy {
  return {
    name: `kube-proxy-${mode}`,
    title: `kube-proxy 1.36.4, ${mode}`,
    isBaseline: true,
    needsFairleadImage: false,
    async start(nodes, { kubeconfig }) {
      await Promise.all(nodes.map((node) => startOn(node, mode, kubeconfig)))
    },
  }
}

async function startOn(node: ClusterNode, mode: string, kubeconfig: string): Promise<void> {
  const { name } = node.addresses
  const file = join(stateFolder, name, 'kube-proxy.yaml')
  await writeFile(
    file,
    stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode,
      hostnameOverride: name,
      clientConnection: { kubeconfig },
      ...sameConfiguration,
    }),
  )
  const running = node.spawn('kube-proxy', 'env', [
    `PATH=${process.env['PATH']}:/usr/sbin:/sbin`,
    await buildProgram('kube-proxy'),
    `--config=${file}`,
  ])
  await running.waitUntil('healthy', async () => {
    await node.run('curl', ['--silent', '--fail', 'http://127.0.0.1:10256/healthz'])
    return true
  })
}
