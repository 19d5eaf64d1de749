/** Proxies in mode ipvs on a node of the packet tests, within a guest. */
import { setTimeout as sleep } from 'node:timers/promises'
import { writeKubeconfig } from '../../../../src/embedded/kubeconfig-file.ts'
import { TemporaryFolder } from '../../../../src/sources/kube/testing/temporary-folder.ts'
import { localPods, plans } from '../../../packet/testing/address-plan.ts'
import { ask } from '../../../packet/testing/ask.ts'
import { ApiObjects } from '../../../packet/testing/api-objects.ts'
import { podInterfacePrefix } from '../../../packet/testing/cluster.ts'
import type { Cluster } from '../../../packet/testing/cluster.ts'
import { FairleadProcess } from '../../../packet/testing/fairlead.ts'
import { chooseVariant, missingPrograms } from '../../../packet/testing/iptables-variant.ts'
import { kubeProxyFlags, kubeProxyProblem, onlyInFairlead } from '../../../packet/testing/kube-proxy.ts'
import { NodeProcess } from '../../../packet/testing/node-process.ts'
import { proxyFlags } from '../../../packet/testing/proxy-flags.ts'
import type { Proxy, ProxySettings, RunningProxy } from '../../../packet/testing/proxy.ts'
import type { KubernetesObject } from '../../../packet/testing/service-fixture.ts'

export interface IpvsSettings extends ProxySettings {
  /** `rr` unless given. */
  readonly scheduler?: string
}

export const fairleadIpvs: Proxy = {
  name: 'ipvs',
  mode: 'ipvs',
  cannot: {},
  missing: () => missingPrograms('iptables-legacy', 'ip6tables-legacy', 'ipset'),
  start: startFairleadIpvs,
}

/** The starter is a program, with arguments, that runs the one named after it. */
export async function startFairleadIpvs(
  cluster: Cluster,
  settings: IpvsSettings,
  starter: readonly string[] = [],
): Promise<FairleadProcess> {
  prepareNode(cluster)
  return new FairleadIpvs(cluster, flagsFor(settings), await TemporaryFolder.make(), {}, starter)
}

class FairleadIpvs extends FairleadProcess {
  override async apply(objects: readonly KubernetesObject[]): Promise<void> {
    await super.apply(objects)
    await rulesAreThere(this.cluster, objects, () => this.log())
  }
}

/** The judge of what the rows expect of this mode. It starts a process for each entry of a set, which takes minutes here. */
export const kubeProxyIpvs: Proxy = {
  name: 'kube-proxy ipvs',
  mode: 'ipvs',
  cannot: onlyInFairlead,
  missing: () => kubeProxyProblem() ?? fairleadIpvs.missing(),
  start: startKubeProxyIpvs,
}

async function startKubeProxyIpvs(cluster: Cluster, settings: IpvsSettings): Promise<RunningProxy> {
  prepareNode(cluster)
  const folder = await TemporaryFolder.make()
  const objects = await ApiObjects.start(cluster.node)
  const kubeconfig = `${folder.path}/kubeconfig`
  await writeKubeconfig(kubeconfig, objects.url)
  const args = [...kubeProxyFlags(flagsFor(settings)), `--kubeconfig=${kubeconfig}`, '--v=2']
  const start = () => new NodeProcess(cluster.node, process.env['KUBE_PROXY'] ?? '', args)
  let child = start()
  return {
    apply: async (wanted) => {
      await objects.apply(wanted)
      await rulesAreThere(cluster, wanted, () => child.output)
    },
    run: () => void (child = start()),
    stop: (signal) => child.stop(signal),
    log: () => child.output,
    async [Symbol.asyncDispose]() {
      for (const part of [child, objects, folder]) await part[Symbol.asyncDispose]()
    },
  }
}

function flagsFor(settings: IpvsSettings): readonly string[] {
  const { scheduler = '', syncPeriod = '30s' } = settings
  return [
    ...proxyFlags('ipvs', settings),
    `--ipvs-scheduler=${scheduler}`,
    '--ipvs-min-sync-period=10ms',
    `--ipvs-sync-period=${syncPeriod}`,
  ]
}

export function prepareNode({ node }: Cluster): void {
  // The only one that the guest's kernel has.
  chooseVariant(node, 'legacy')
  // Links to pods have no address, and IPv6 would masquerade as the address of a Service that looks more like a pod's.
  node.ip(...localPods.map((pod) => `address replace ${plans.ipv6.nodeIP}/128 dev ${podInterfacePrefix}${pod} nodad`))
}

/**
 * Virtual servers answer before the rules are there that masquerade and filter. Those also refuse an echo request to the
 * address of a Service, which the node would answer: so the last Service, refusing, says that all is done.
 */
async function rulesAreThere(
  { node }: Cluster,
  objects: readonly KubernetesObject[],
  log: () => string,
): Promise<void> {
  const specs = objects.filter(({ kind }) => kind === 'Service').map((service) => service['spec'])
  const { clusterIPs: ips } = specs.at(-1) as { readonly clusterIPs: readonly string[] }
  const deadline = performance.now() + Number(process.env['PROGRAMMING_DEADLINE_MS'])
  for (const ip of ips)
    while ((await ask(node, { transport: 'icmp', ip, port: 0, patienceMs: 1000 })).kind !== 'refused') {
      if (performance.now() > deadline) throw new Error(`the proxy has not programmed its rules:\n${log()}`)
      await sleep(50)
    }
}
