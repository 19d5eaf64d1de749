/** Flags that Fairlead and kube-proxy have in common. */
import { families } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { podInterfacePrefix } from './cluster.ts'
import type { ProxyMode, ProxySettings } from './proxy.ts'
import { nodeName } from './service-fixture.ts'

export function proxyFlags(mode: ProxyMode, settings: ProxySettings): readonly string[] {
  const { masqueradeAll = false, localhostNodePorts = true, externalIPs = true, syncPeriod = '30s' } = settings
  return [
    `--proxy-mode=${mode}`,
    `--hostname-override=${nodeName}`,
    ...detectLocalFlags(settings),
    `--masquerade-all=${masqueradeAll}`,
    `--iptables-localhost-nodeports=${localhostNodePorts !== false}`,
    ...(mode === 'ebpf' ? [`--ebpf-localhost-node-ports=${localhostNodePorts !== false}`] : []),
    ...(localhostNodePorts === 'in every mode' ? [localhostInEveryMode] : []),
    ...nodePortFlags(mode, settings),
    ...(externalIPs ? [] : ['--feature-gates=AllowServiceExternalIPs=false']),
    ...(settings.strictSourceRanges === true ? ['--strict-source-ranges'] : []),
    ...(settings.externalIPGuard === undefined ? [] : [`--external-ip-guard=${settings.externalIPGuard}`]),
    ...(settings.externalIPGuardNamespaces === true ? ['--external-ip-guard-namespaces'] : []),
    ...(settings.externalIPRanges ?? []).map((range) => `--external-ip-cidrs=${range}`),
    ...(settings.destroysOldConnections === true ? ['--destroy-old-connections'] : []),
    '--iptables-min-sync-period=10ms',
    `--iptables-sync-period=${syncPeriod}`,
    // What belongs to the whole machine stays as it is.
    '--oom-score-adj=0',
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ]
}

/** kube-proxy does not know it. */
export const localhostInEveryMode = '--localhost-nodeports'

/** The nftables mode has node ports on the node's primary addresses by default, the iptables mode everywhere. */
function nodePortFlags(mode: ProxyMode, { nodePortAddresses }: ProxySettings): readonly string[] {
  const everywhere = mode === 'nftables' || mode === 'ebpf' ? ['0.0.0.0/0', '::/0'] : []
  const addresses = nodePortAddresses ?? everywhere
  return typeof addresses === 'string' || addresses.length === 0 ? [] : [`--nodeport-addresses=${addresses.join(',')}`]
}

function detectLocalFlags({ detectLocal = 'cluster ranges' }: ProxySettings): readonly string[] {
  switch (detectLocal) {
    case 'cluster ranges':
      return [`--cluster-cidr=${families.map((family) => plans[family].podRange).join(',')}`]
    case 'interface prefix':
      return ['--detect-local-mode=InterfaceNamePrefix', `--pod-interface-name-prefix=${podInterfacePrefix}`]
    case 'not at all':
      return []
    default:
      return detectLocal satisfies never
  }
}
