/** What the configuration says about traffic, as every mode that programs the kernel needs it. */
import { masqueradeBit } from '../../config/proxy-config.ts'
import { localTraffic } from '../../core/local-traffic.ts'
import type { LocalTraffic } from '../../core/local-traffic.ts'
import { masqueradeMark } from '../../core/masquerade-mark.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeSettings } from './mode.ts'

export interface TrafficSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  readonly masqueradeMark: string
  /** CIDRs; `primary` has been replaced. */
  readonly nodePortAddresses: readonly string[]
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
}

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
