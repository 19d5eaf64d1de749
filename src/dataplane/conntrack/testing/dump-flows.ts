import type { TrackedConnection } from '../../../core/open-connections.ts'
import type { Family } from '../../../net/ip.ts'
import type { Conntrack, TrackedFlow } from '../conntrack.ts'

export async function dumpFlows(
  conntrack: Conntrack,
  family: Family = 'ipv4',
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly TrackedFlow[]> {
  const flows: TrackedFlow[] = []
  for await (const batch of conntrack.dump(family, signal)) flows.push(...batch)
  return flows
}

export async function listConnections(
  conntrack: Conntrack,
  family: Family = 'ipv4',
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly TrackedConnection[]> {
  let connections: TrackedConnection[] = []
  for await (const batch of conntrack.connections(family, signal)) {
    if (batch === 'again') connections = []
    else connections.push(...batch)
  }
  return connections
}
