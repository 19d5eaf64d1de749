/** Fairlead on a node in its userspace mode: iptables leads to a relay, the native one. */
import { existsSync } from 'node:fs'
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
    missing: () => missingPrograms(`iptables-${variant}`, `ip6tables-${variant}`) ?? missingEngine(),
    start: (cluster, settings) => startUserspace(cluster, variant, settings),
  }
}

/** Why the native engine cannot be used, or undefined when it can. */
function missingEngine(): string | undefined {
  const program = new URL(`../../../dist/native/${process.platform}-${process.arch}/fairlead-relay`, import.meta.url)
  return existsSync(program) ? undefined : 'the native engine is not built: npm run build:native'
}

export async function startUserspace(
  cluster: Cluster,
  variant: IptablesVariant,
  settings: ProxySettings,
  moreFlags: readonly string[] = [],
): Promise<FairleadProcess> {
  chooseVariant(cluster.node, variant)
  const flags = [...proxyFlags('userspace', settings), ...moreFlags]
  return new FairleadProcess(cluster, flags, await TemporaryFolder.make(), {})
}
