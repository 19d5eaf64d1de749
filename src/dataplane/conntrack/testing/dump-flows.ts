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
