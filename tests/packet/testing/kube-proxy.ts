/** The real kube-proxy, where the environment names one: the judge of what the rows expect. */
import { existsSync } from 'node:fs'
import { writeKubeconfig } from '../../../src/embedded/kubeconfig-file.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { ApiObjects } from './api-objects.ts'
import type { Cluster } from './cluster.ts'
import { chooseVariant, missingPrograms, plainNamesFolder } from './iptables-variant.ts'
import type { IptablesVariant } from './iptables-variant.ts'
import { NodeProcess } from './node-process.ts'
import { proxyFlags } from './proxy-flags.ts'
import type { Proxy, ProxySettings, RunningProxy } from './proxy.ts'

export function kubeProxyIptables(variant: IptablesVariant): Proxy {
  return {
    name: `kube-proxy iptables (${variant})`,
    cannot: {},
    missing: () => kubeProxyProblem() ?? missingPrograms(`iptables-${variant}`, `ip6tables-${variant}`),
    start: (cluster, settings) => startKubeProxy(cluster, settings, variant),
  }
}

/** Why there is no kube-proxy to compare with, or undefined when there is one. */
export function kubeProxyProblem(): string | undefined {
  const program = process.env['KUBE_PROXY']
  if (program === undefined) return 'KUBE_PROXY does not name a kube-proxy binary'
  return existsSync(program) ? undefined : `KUBE_PROXY names ${program}, which does not exist`
}

export async function startKubeProxy(
  cluster: Cluster,
  settings: ProxySettings,
  variant: IptablesVariant,
): Promise<RunningProxy> {
  chooseVariant(cluster.node, variant)
  const folder = await TemporaryFolder.make()
  const objects = await ApiObjects.start(cluster.node)
  const kubeconfig = `${folder.path}/kubeconfig`
  await writeKubeconfig(kubeconfig, objects.url)
  const tools = await plainNamesFolder(folder.path, variant)
  const args = [...proxyFlags('iptables', settings), `--kubeconfig=${kubeconfig}`, '--v=2']
  const child = new NodeProcess(cluster.node, process.env['KUBE_PROXY'] ?? '', args, {
    PATH: `${tools}:${process.env['PATH']}`,
  })
  return {
    apply: (wanted) => objects.apply(wanted),
    stop: (signal) => child.stop(signal),
    log: () => child.output,
    async [Symbol.asyncDispose]() {
      for (const part of [child, objects, folder]) await part[Symbol.asyncDispose]()
    },
  }
}
