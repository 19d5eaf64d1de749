/** What serves the Services of a cluster: the programs that the table compares. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { buildProgram } from '../cluster/testing/programs.ts'
import { podCidrs } from './cluster/addresses.ts'
import type { ControlPlane } from './cluster/control-plane.ts'
import { stateFolder } from './cluster/hub.ts'
import type { ClusterNode } from './cluster/node.ts'
import type { Row } from './conformance-table.ts'

export interface Proxy extends Row {
  /** Resolves when it has synced on every node. */
  start(nodes: readonly ClusterNode[], controlPlane: ControlPlane): Promise<void>
}

const fairlead = fileURLToPath(new URL('../../bin/fairlead.js', import.meta.url))

type Command = readonly [program: string, ...args: readonly string[]]

const programs = {
  'kube-proxy': {
    title: 'kube-proxy 1.36.4',
    isBaseline: true,
    command: async (): Promise<Command> => [await buildProgram('kube-proxy')],
  },
  fairlead: {
    title: 'Fairlead',
    isBaseline: false,
    command: async (): Promise<Command> => [process.execPath, fairlead],
  },
}

export const proxies: readonly Proxy[] = [
  onEachNode({ program: 'kube-proxy', mode: 'iptables' }),
  onEachNode({ program: 'kube-proxy', mode: 'nftables' }),
  onEachNode({ program: 'fairlead', mode: 'nftables' }),
  onEachNode({ program: 'fairlead', mode: 'iptables' }),
  onEachNode({ program: 'fairlead', mode: 'userspace' }),
]

/** As a process of each node, like a unit of systemd. */
function onEachNode({ program: which, mode }: { program: keyof typeof programs; mode: string }): Proxy {
  const { title, isBaseline, command } = programs[which]
  const name = `${which}-${mode}`
  return {
    name,
    title: `${title}, ${mode}`,
    isBaseline,
    async start(nodes, { kubeconfig }) {
      const [program, ...args] = await command()
      await Promise.all(
        nodes.map(async (node) => {
          const file = join(stateFolder, node.addresses.name, 'proxy.yaml')
          await writeFile(file, stringify(proxyConfiguration(mode, node.addresses.name, kubeconfig)))
          const path = `PATH=${process.env['PATH']}:/usr/sbin:/sbin`
          const running = node.spawn(name, 'env', [path, program, ...args, `--config=${file}`])
          await running.waitUntil('healthy', async () => {
            await node.run('curl', ['--silent', '--fail', `http://127.0.0.1:10256/healthz`])
            return true
          })
        }),
      )
    },
  }
}

/** The same for all: an unmodified configuration of kube-proxy. */
function proxyConfiguration(mode: string, hostnameOverride: string, kubeconfig: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    hostnameOverride,
    clientConnection: { kubeconfig },
    clusterCIDR: podCidrs.join(','),
    detectLocalMode: 'ClusterCIDR',
    // The size of the table is one for the whole machine, and may not be set from here.
    conntrack: { maxPerCore: 0, min: 0 },
    healthzBindAddress: '0.0.0.0:10256',
    metricsBindAddress: '127.0.0.1:10249',
  }
}
