import { expandPrimary } from '../../core/node/node-port-addresses.ts'
import { iptablesOfHost } from '../../dataplane/iptables/find-iptables.ts'
import { lendRelay } from '../../dataplane/relay/lend-relay.ts'
import type { ModeContext } from '../modes/mode.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import type { ThisNode } from './node-at-start.ts'
import { ObservedRelay } from './observed-relay.ts'

/** What a mode may use to work on this node. Nothing is opened before the mode asks for it. */
export function modeContext(
  daemon: Daemon,
  { record, addresses: { ips, primaryFamily } }: ThisNode,
  observed: Pick<ClusterParts, 'metrics' | 'tracing'>,
): ModeContext {
  const { config, host, stateDir, serviceSeriesLimit, log } = daemon
  const { metrics, tracing } = observed
  const { exec, clock } = host
  const relay = new ObservedRelay(daemon, observed)
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
    borrowRelay: lendRelay((use) => relay.open(use)),
    noteProxyPorts: (family, ports) => relay.noteProxyPorts(family, ports),
    iptablesOf: iptablesOfHost({ exec, clock, log }),
    metrics: metrics.families,
    tracer: tracing.recorder,
    log,
  }
}
