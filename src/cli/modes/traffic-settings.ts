/** From the configuration to what the kernel modes need of it. */
import { masqueradeBit } from '../../config/proxy-config.ts'
import { localTraffic } from '../../core/node/local-traffic.ts'
import { masqueradeMark } from '../../core/node/masquerade-mark.ts'
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeSettings } from './mode.ts'

export function trafficSettings(family: Family, settings: ModeSettings): TrafficSettings {
  const { config, podCIDRs, localIps, nodePortAddresses } = settings
  const { clusterCidrs, bridgeInterface, interfaceNamePrefix } = config.detectLocal
  const traffic = localTraffic({
    mode: config.detectLocalMode,
    clusterCIDRs: clusterCidrs,
    podCIDRs,
    bridgeInterface,
    interfaceNamePrefix,
  })
  return {
    family,
    localTraffic: traffic[family],
    masqueradeAll: config.masqueradeAll,
    masqueradeMark: masqueradeMark(masqueradeBit(config)),
    nodePortAddresses,
    localIps,
  }
}
