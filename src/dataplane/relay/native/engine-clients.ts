/** Who may come to a listener, and whose address is kept, in the words of the native engine. */
import type { LocalTraffic } from '../../../core/node/local-traffic.ts'
import { renderCidr } from '../../../net/ip.ts'
import type { ListenerSpec } from '../relay.ts'

export function clientsOf({ keeps, allowedSources }: ListenerSpec): readonly string[] {
  return [keeps?.of ?? 'nobody', podsWord(keeps?.pods ?? { kind: 'none' }), ...allowedSources.map(renderCidr)]
}

function podsWord(pods: LocalTraffic): string {
  switch (pods.kind) {
    case 'cidr':
      return pods.cidr
    case 'interface':
      return `=${pods.name}`
    case 'interface-prefix':
      return `+${pods.prefix}`
    case 'none':
      return '-'
    default:
      return pods satisfies never
  }
}
