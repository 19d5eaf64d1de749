/** Hints that vanish without a word are what people find hardest about topology: here is the word. */
import type { Endpoint, Route } from '../route.ts'
import type { Scene } from './world.ts'

/** As `topologyMode` decides. Hints for nodes give way to those for zones, so zones have the last word. */
export function whyNoHints(
  { topology, endpoints }: Route,
  { table }: Pick<Scene, 'table'>,
): { readonly whyNoHints?: string } {
  const { name, zone } = table.view.node
  const needsServing = table.policy.endpointRules === 'kernelspace'
  const ready = endpoints.filter((it) => it.ready && (it.serving || !needsServing))
  if (topology !== 'none') return {}
  if (ready.some(({ zoneHints }) => zoneHints.length > 0)) {
    const without = ready.filter(({ zoneHints }) => zoneHints.length === 0)
    if (without.length > 0) return { whyNoHints: missingHint(without, 'zone') }
    if (zone === '') return { whyNoHints: 'this node has no zone (label topology.kubernetes.io/zone of its Node)' }
    return { whyNoHints: `no ready endpoint is meant for zone ${zone}` }
  }
  if (ready.some(({ nodeHints }) => nodeHints.length > 0)) {
    const without = ready.filter(({ nodeHints }) => nodeHints.length === 0)
    return {
      whyNoHints:
        without.length > 0 ? missingHint(without, 'node') : `no ready endpoint is meant for this node, ${name}`,
    }
  }
  return {}
}

function missingHint([first, ...more]: readonly Endpoint[], what: 'zone' | 'node'): string {
  const who = more.length === 0 ? `${first?.address} has` : `${first?.address} and ${more.length} more have`
  return `${who} no hint for a ${what}, and all ready endpoints need one`
}
