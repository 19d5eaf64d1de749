/** Settings that other modes follow and this one does not: whoever sets one should be told. */
import { defaultConfig } from '../../../config/file/config-from-v1alpha1.ts'
import type { ProxyConfig } from '../../../config/proxy-config.ts'
import { isSameData } from '../../../core/same-data.ts'

type Settings = Pick<
  ProxyConfig,
  'detectLocalMode' | 'detectLocal' | 'masqueradeAll' | 'conntrack' | 'ipvs' | 'nftables' | 'oomScoreAdj'
>

/** As the configuration file calls them. Whoever sets one to its default need not know. */
export function settingsWithoutEffect(settings: Settings): readonly string[] {
  const usual = defaultConfig()
  const { clusterCidrs, ...detectLocal } = settings.detectLocal
  const { clusterCidrs: _, ...usualDetectLocal } = usual.detectLocal
  const isGiven = {
    detectLocalMode: settings.detectLocalMode !== '',
    clusterCIDR: clusterCidrs.length > 0,
    detectLocal: !isSameData(detectLocal, usualDetectLocal),
    'iptables.masqueradeAll': settings.masqueradeAll,
    conntrack: !isSameData(settings.conntrack, usual.conntrack),
    ipvs: !isSameData(settings.ipvs, usual.ipvs),
    nftables: !isSameData(settings.nftables, usual.nftables),
    oomScoreAdj: settings.oomScoreAdj !== usual.oomScoreAdj,
  }
  return Object.entries(isGiven).flatMap(([name, isSet]) => (isSet ? [name] : []))
}
