/** Flags that Fairlead and kube-proxy have in common. */
import { families } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { podInterfacePrefix } from './cluster.ts'
import type { ProxySettings } from './proxy.ts'
import { nodeName } from './service-fixture.ts'

export function proxyFlags(mode: string, settings: ProxySettings): readonly string[] {
  const { masqueradeAll = false, localhostNodePorts = true, nodePortAddresses = [], syncPeriod = '30s' } = settings
  return [
    `--proxy-mode=${mode}`,
    `--hostname-override=${nodeName}`,
    ...detectLocalFlags(settings),
    `--masquerade-all=${masqueradeAll}`,
    `--iptables-localhost-nodeports=${localhostNodePorts}`,
    ...(nodePortAddresses.length > 0 ? [`--nodeport-addresses=${nodePortAddresses.join(',')}`] : []),
    '--iptables-min-sync-period=10ms',
    `--iptables-sync-period=${syncPeriod}`,
    // What belongs to the whole machine stays as it is.
    '--oom-score-adj=0',
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ]
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
