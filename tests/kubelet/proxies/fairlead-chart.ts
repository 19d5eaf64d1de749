import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { buildProgram } from '../../cluster/testing/programs.ts'
import { apiServerPort, hub } from '../cluster/addresses.ts'
import { stateFolder } from '../cluster/hub.ts'
import { run } from '../run.ts'
import { sameConfiguration } from './configuration.ts'
import type { Proxy } from './proxy.ts'

const chart = fileURLToPath(new URL('../../../deploy/helm/fairlead', import.meta.url))

/** Fairlead from its own image, installed by its own chart, as a user does it. */
export function fairleadChart(mode: 'nftables' | 'iptables' | 'userspace'): Proxy {
  return {
    name: `fairlead-${mode}`,
    title: `Fairlead, ${mode}`,
    isBaseline: false,
    needsFairleadImage: true,
    async start(_nodes, { kubeconfig, kubectl }) {
      const values = join(stateFolder, 'values.yaml')
      await writeFile(
        values,
        stringify({
          mode,
          config: sameConfiguration,
          image: { pullPolicy: 'Never' },
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
    },
  }
}
