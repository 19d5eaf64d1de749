import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { buildProgram } from '../../cluster/testing/programs.ts'
import { apiServerPort, hub } from '../cluster/addresses.ts'
import { unifiedFolder } from '../cluster/cgroups.ts'
import { stateFolder } from '../cluster/hub.ts'
import { run } from '../run.ts'
import { sameConfiguration } from './configuration.ts'
import { assertConnectedUdpAtSockets, assertHooksOfEachNode } from './own-connections.ts'
import type { Proxy } from './proxy.ts'

const chart = fileURLToPath(new URL('../../../deploy/helm/fairlead', import.meta.url))

/** Fairlead from its own image, installed by its own chart, as a user does it. */
export function fairleadChart(mode: 'nftables' | 'ebpf' | 'iptables' | 'userspace'): Proxy {
  return {
    name: `fairlead-${mode}`,
    title: `Fairlead, ${mode}`,
    isBaseline: false,
    needsFairleadImage: true,
    async start(nodes, { kubeconfig, kubectl }, cgroup) {
      const values = join(stateFolder, 'values.yaml')
      await writeFile(
        values,
        stringify({
          mode,
          config: sameConfiguration,
          image: { pullPolicy: 'Never' },
          ...(mode === 'ebpf' && {
            extraArgs: [`--ebpf-cgroup=${cgroupOfEachNode(cgroup)}`],
            // As much at the sockets as can be.
            ebpf: { connectedUdpOfPods: 'sockets' },
          }),
          apiServer: { host: hub.ipv4, port: apiServerPort },
        }),
      )
      await run(await buildProgram('helm'), [
        'install',
        'fairlead',
        chart,
        '--namespace=kube-system',
        `--values=${values}`,
        `--kubeconfig=${kubeconfig}`,
      ])
      await kubectl('rollout', 'status', 'daemonset/fairlead', '--namespace=kube-system', '--timeout=180s')
      if (mode === 'ebpf') {
        await assertConnectedUdpAtSockets(kubectl)
        await assertHooksOfEachNode(nodes)
      }
    },
  }
}

/** As a pod of the chart sees it. The nodes share a kernel, so each must leave the sockets of the others alone. */
function cgroupOfEachNode(cgroup: string): string {
  const folder = unifiedFolder(`${cgroup}/$(NODE_NAME)`)
  if (folder === undefined) throw new Error('the ebpf mode needs cgroup v2, and it is not mounted here')
  return `/host${folder}`
}
