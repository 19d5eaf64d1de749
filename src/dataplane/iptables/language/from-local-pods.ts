import type { LocalTraffic } from '../../../core/node/local-traffic.ts'
import type { Match } from './rule.ts'

type OriginMatch = Extract<Match, { kind: 'source' | 'destination' | 'in-interface' }>

/** Matches traffic of pods on this node; undefined when there is no way to tell. */
export function fromLocalPods(localTraffic: LocalTraffic): OriginMatch | undefined {
  switch (localTraffic.kind) {
    case 'cidr':
      return { kind: 'source', value: localTraffic.cidr }
    case 'interface':
      return { kind: 'in-interface', value: localTraffic.name }
    case 'interface-prefix':
      return { kind: 'in-interface', value: `${localTraffic.prefix}+` }
    case 'none':
      return undefined
    default:
      return localTraffic satisfies never
  }
}
