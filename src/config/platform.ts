import type { ProxyMode, UncheckedConfig } from './proxy-config.ts'

/** The first is the default. */
export function modesOn(platform: NodeJS.Platform): readonly [ProxyMode, ...ProxyMode[]] {
  if (platform === 'linux') return ['iptables', 'ipvs', 'nftables', 'userspace']
  // On other systems kube-proxy does not start at all, but plain sockets work everywhere.
  return platform === 'win32' ? ['kernelspace', 'userspace'] : ['userspace']
}

export function withPlatformDefaults(config: UncheckedConfig, platform: NodeJS.Platform): UncheckedConfig {
  const mode = config.mode === '' ? modesOn(platform)[0] : config.mode
  if (platform === 'win32') {
    const rootHnsEndpointName = config.winkernel.rootHnsEndpointName || 'cbr0'
    return { ...config, mode, winkernel: { ...config.winkernel, rootHnsEndpointName } }
  }
  if (platform !== 'linux') return { ...config, mode }
  const isOpenNftables = mode === 'nftables' && config.nodePortAddresses.length === 0
  return {
    ...config,
    mode,
    nodePortAddresses: isOpenNftables ? ['primary'] : config.nodePortAddresses,
    detectLocalMode: config.detectLocalMode || 'ClusterCIDR',
  }
}
