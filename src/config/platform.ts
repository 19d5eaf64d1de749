import { programsNftables, type ProxyMode, type UncheckedConfig } from './proxy-config.ts'

/** The first is the default. */
export function modesOn(platform: NodeJS.Platform): readonly [ProxyMode, ...ProxyMode[]] {
  if (platform === 'linux') return ['iptables', 'ipvs', 'nftables', 'ebpf', 'userspace']
  // On other systems kube-proxy does not start at all, but plain sockets work everywhere.
  return platform === 'win32' ? ['kernelspace', 'userspace'] : ['userspace']
}

/** What old command lines and KPNG call the userspace mode of Windows. */
const windowsUserspace = 'winuserspace'

/** The system that has the mode, for whoever only wants to see its plan; undefined if several have it, or none. */
export function systemOf(mode: string): NodeJS.Platform | undefined {
  if (mode === windowsUserspace) return 'win32'
  const systems = (['linux', 'win32'] as const).filter((system) => modesOn(system).some((name) => name === mode))
  return systems.length === 1 ? systems[0] : undefined
}

export function withPlatformDefaults(config: UncheckedConfig, platform: NodeJS.Platform): UncheckedConfig {
  const named = config.mode === '' ? modesOn(platform)[0] : config.mode
  if (platform === 'win32') {
    const mode = named === windowsUserspace ? 'userspace' : named
    const rootHnsEndpointName = config.winkernel.rootHnsEndpointName || 'cbr0'
    return { ...config, mode, winkernel: { ...config.winkernel, rootHnsEndpointName } }
  }
  const mode = named
  if (platform !== 'linux') return { ...config, mode }
  const isOpenNftables = programsNftables(mode) && config.nodePortAddresses.length === 0
  return {
    ...config,
    mode,
    nodePortAddresses: isOpenNftables ? ['primary'] : config.nodePortAddresses,
    detectLocalMode: config.detectLocalMode || 'ClusterCIDR',
  }
}
