import { silentLogger } from '../../../core/logger.ts'
import { EbpfBackend } from '../ebpf-backend.ts'
import type { EbpfBackendOptions } from '../ebpf-backend.ts'
import { noPackets } from './no-packets.ts'

type Needed = Pick<EbpfBackendOptions, 'balancer' | 'clock'>

/** On a node without addresses of its own. */
export function ipv4Backend(options: Needed & Partial<EbpfBackendOptions>): EbpfBackend {
  const noIps = new Set<string>()
  return new EbpfBackend({
    family: 'ipv4',
    packets: noPackets,
    node: () => ({ ownIps: noIps, nodePortIps: noIps }),
    log: silentLogger,
    ...options,
  })
}
