import { expandPrimary } from '../../core/node/node-port-addresses.ts'
import { iptablesOfHost } from '../../dataplane/iptables/find-iptables.ts'
import { lendRelay } from '../../dataplane/relay/lend-relay.ts'
import type { ModeContext } from '../modes/mode.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import type { ThisNode } from './node-at-start.ts'

/** What a mode may use to work on this node. Nothing is opened before the mode asks for it. */
export function modeContext(
  { config, host, stateDir, serviceSeriesLimit, userspace, log }: Daemon,
  { record, addresses: { ips, primaryFamily } }: ThisNode,
  { metrics, tracing }: Pick<ClusterParts, 'metrics' | 'tracing'>,
): ModeContext {
  const { exec, clock } = host
  return {
    config,
    host,
    nodeIp: ips[primaryFamily],
    nodeIps: ips,
    primaryFamily,
    stateDir,
    nodePortAddresses: expandPrimary(config.nodePortAddresses, ips),
    podCIDRs: record?.podCIDRs ?? [],
    localIps: () => host.localAddresses(),
    serviceSeriesLimit,
    borrowRelay: lendRelay((use) => host.openRelay({ ...userspace, ...use, log, clock })),
    iptablesOf: iptablesOfHost({ exec, clock, log }),
    metrics: metrics.families,
    tracer: tracing.recorder,
    log,
  }
}
