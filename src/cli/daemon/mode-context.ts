import { iptablesOfHost } from '../../dataplane/iptables/find-iptables.ts'
import { lendRelay } from '../../dataplane/relay/lend-relay.ts'
import type { ModeContext } from '../modes/mode.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import type { ThisNode } from './node-at-start.ts'
import { NodeSettings } from './node-settings.ts'
import { ObservedRelay } from './observed-relay.ts'

/** What a mode may use to work on this node. Nothing is opened before the mode asks for it. */
export function modeContext(
  daemon: Daemon,
  node: ThisNode,
  observed: Pick<ClusterParts, 'metrics' | 'tracing' | 'succession'>,
  settings = new NodeSettings(daemon, node),
): ModeContext {
  const { config, host, stateDir, log } = daemon
  const { ips, primaryFamily } = node.addresses
  const { metrics, tracing, succession } = observed
  const { exec, clock } = host
  const relay = new ObservedRelay(daemon, observed)
  return {
    config,
    settings: () => settings.now(),
    settingsOf: (family) => settings.of(family),
    host,
    nodeIp: ips[primaryFamily],
    nodeIps: ips,
    primaryFamily,
    stateDir,
    localIps: () => host.localAddresses(),
    borrowRelay: lendRelay((use) => relay.open(use)),
    clientAddress: daemon.userspace.clientAddress,
    ebpf: daemon.ebpf,
    noteProxyPorts: (family, ports) => relay.noteProxyPorts(family, ports),
    sockets: succession.sockets,
    currentMode: () => succession.currentMode(),
    iptablesOf: iptablesOfHost({ exec, clock, log }),
    metrics: metrics.families,
    registry: metrics.registry,
    tracer: tracing.recorder,
    log,
  }
}
