/** The real kube-proxy, where the environment names one: the judge of what the rows expect. */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeKubeconfig } from '../../../src/embedded/kubeconfig-file.ts'
import { families } from '../../../src/net/ip.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { ApiObjects } from './api-objects.ts'
import type { Cluster } from './cluster.ts'
import { chooseVariant, missingPrograms, plainNamesFolder } from './iptables-variant.ts'
import type { IptablesVariant } from './iptables-variant.ts'
import type { Namespace } from './namespace.ts'
import { NodeProcess } from './node-process.ts'
import { localhostInEveryMode, proxyFlags } from './proxy-flags.ts'
import type { Proxy, ProxySettings, RunningProxy } from './proxy.ts'
import { clusterObjects } from './service-fixture.ts'

export const onlyInFairlead = {
  'annotations of Fairlead': 'kube-proxy does not know them',
  'localhost in every mode': 'kube-proxy cannot',
}

export function kubeProxyIptables(variant: IptablesVariant): Proxy {
  return {
    name: `kube-proxy iptables (${variant})`,
    mode: 'iptables',
    cannot: onlyInFairlead,
    missing: () => kubeProxyProblem() ?? missingPrograms(`iptables-${variant}`, `ip6tables-${variant}`),
    start: (cluster, settings) => startKubeProxy(cluster, settings, variant),
  }
}

export const kubeProxyNftables: Proxy = {
  name: 'kube-proxy nftables',
  mode: 'nftables',
  cannot: {
    ...onlyInFairlead,
    'ServiceCIDRs at once': 'kube-proxy writes them with its next full sync, once an hour',
  },
  missing: () => kubeProxyProblem() ?? missingPrograms('nft'),
  start: startKubeProxyNftables,
}

export function kubeProxyFlags(flags: readonly string[]): readonly string[] {
  return flags.filter((flag) => flag !== localhostInEveryMode)
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
  const tools = await plainNamesFolder(folder.path, variant)
  return KubeProxyProcess.start(cluster, folder, kubeProxyFlags(proxyFlags('iptables', settings)), {
    PATH: `${tools}:${process.env['PATH']}`,
  })
}

export async function startKubeProxyNftables(cluster: Cluster, settings: ProxySettings): Promise<RunningProxy> {
  const folder = await TemporaryFolder.make()
  const kubeProxy = await KubeProxyProcess.start(cluster, folder, kubeProxyFlags(proxyFlags('nftables', settings)), {})
  await hasServiceCidrs(cluster.node, kubeProxy)
  return kubeProxy
}

/**
 * Its first rules may be older than its list of ServiceCIDRs, and it would write the next ones in an hour; but when the
 * zone of its node changes, it writes them at once.
 */
async function hasServiceCidrs(node: Namespace, kubeProxy: RunningProxy): Promise<void> {
  const deadline = performance.now() + 50_000
  for (let zone = 0; !dropsUnallocated(node); zone++) {
    if (performance.now() > deadline)
      throw new Error(`kube-proxy has not written its ServiceCIDRs:\n${kubeProxy.log()}`)
    const labels = { 'topology.kubernetes.io/zone': `zone-${zone}` }
    await kubeProxy.apply(
      clusterObjects.map((object) =>
        object.kind === 'Node' ? { ...object, metadata: { ...object.metadata, labels } } : object,
      ),
    )
    await sleep(200)
  }
}

function dropsUnallocated(node: Namespace): boolean {
  const rules = node.run('nft', ['list', 'ruleset'])
  return rules.split('Drop traffic to unallocated ClusterIPs').length > families.length
}

class KubeProxyProcess implements RunningProxy {
  readonly #objects: ApiObjects
  readonly #folder: TemporaryFolder
  readonly #start: () => NodeProcess
  #process: NodeProcess

  static async start(
    cluster: Cluster,
    folder: TemporaryFolder,
    flags: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<KubeProxyProcess> {
    const objects = await ApiObjects.start(cluster.node)
    const kubeconfig = `${folder.path}/kubeconfig`
    await writeKubeconfig(kubeconfig, objects.url)
    const args = [...flags, `--kubeconfig=${kubeconfig}`, '--v=2']
    return new KubeProxyProcess(
      objects,
      folder,
      () => new NodeProcess(cluster.node, process.env['KUBE_PROXY'] ?? '', args, env),
    )
  }

  private constructor(objects: ApiObjects, folder: TemporaryFolder, start: () => NodeProcess) {
    this.#objects = objects
    this.#folder = folder
    this.#start = start
    this.#process = start()
  }

  apply: RunningProxy['apply'] = (wanted) => this.#objects.apply(wanted)

  run(): void {
    this.#process = this.#start()
  }

  stop(signal: NodeJS.Signals): Promise<void> {
    return this.#process.stop(signal)
  }

  log(): string {
    return this.#process.output
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of [this.#process, this.#objects, this.#folder]) await part[Symbol.asyncDispose]()
  }
}
