/** Fairlead on a node in its userspace mode: iptables leads to a relay, which every endpoint takes for the client. */
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import type { Cluster } from './cluster.ts'
import { FairleadProcess } from './fairlead.ts'
import { chooseVariant, missingPrograms } from './iptables-variant.ts'
import type { IptablesVariant } from './iptables-variant.ts'
import { proxyFlags } from './proxy-flags.ts'
import type { Proxy, ProxySettings } from './proxy.ts'

export function fairleadUserspace(variant: IptablesVariant): Proxy {
  return {
    name: `userspace (${variant})`,
    mode: 'userspace',
    cannot: {},
    missing: () => missingPrograms(`iptables-${variant}`, `ip6tables-${variant}`),
    start: (cluster, settings) => startUserspace(cluster, variant, settings),
  }
}

export async function startUserspace(
  cluster: Cluster,
  variant: IptablesVariant,
  settings: ProxySettings,
): Promise<FairleadProcess> {
  chooseVariant(cluster.node, variant)
  return new FairleadProcess(cluster, proxyFlags('userspace', settings), await TemporaryFolder.make(), {})
}
