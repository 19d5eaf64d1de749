/** Settings that other modes follow and this one does not: whoever sets one should be told. */
import type { ProxyConfig } from '../../../config/proxy-config.ts'

type Settings = Pick<ProxyConfig, 'detectLocalMode' | 'detectLocal' | 'masqueradeAll'>

/** As the configuration file calls them. */
export function settingsWithoutEffect({ detectLocalMode, detectLocal, masqueradeAll }: Settings): readonly string[] {
  const isSet = {
    detectLocalMode: detectLocalMode !== '',
    clusterCIDR: detectLocal.clusterCidrs.length > 0,
    'detectLocal.bridgeInterface': detectLocal.bridgeInterface !== '',
    'detectLocal.interfaceNamePrefix': detectLocal.interfaceNamePrefix !== '',
    'iptables.masqueradeAll': masqueradeAll,
  }
  return Object.entries(isSet).flatMap(([name, isGiven]) => (isGiven ? [name] : []))
}
