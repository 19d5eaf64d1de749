/** An allocator over small fixed ranges, for tests of single objects. */
import type { Allocator } from '../../resource.ts'

export function simpleAllocator(
  options: {
    readonly families?: Allocator['families']
    readonly takenIPs?: readonly string[]
    readonly takenNodePorts?: readonly number[]
  } = {},
): Allocator {
  const { families = ['ipv4', 'ipv6'], takenIPs = [], takenNodePorts = [] } = options
  return {
    families,
    nextClusterIP: (family) => {
      if (!families.includes(family)) return undefined
      return family === 'ipv4' ? '10.96.0.10' : 'fd00:96::a'
    },
    refuseClusterIP: (ip) => (takenIPs.includes(ip) ? 'provided IP is already allocated' : undefined),
    nextNodePort: (except) => {
      for (let port = 30_000; port < 30_010; port++)
        if (!except.has(port) && !takenNodePorts.includes(port)) return port
      return undefined
    },
    refuseNodePort: (port) => {
      if (takenNodePorts.includes(port)) return 'provided port is already allocated'
      return port >= 30_000 && port <= 32_767
        ? undefined
        : 'provided port is not in the valid range. The range of valid ports is 30000-32767'
    },
  }
}
