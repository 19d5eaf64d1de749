/** Whose address an endpoint sees. */
import type { Endpoint, Entrance, Route } from '../route.ts'
import type { Source, SourceSeen } from './explanation.ts'
import { isNodeAddress } from './places.ts'
import type { Scene } from './world.ts'

export interface SeenRule {
  of(endpoint: Endpoint): SourceSeen
  /** A sentence about all of them. */
  readonly why: string
}

export function sourceSeen(entrance: Entrance, route: Route, source: Source, scene: Scene): SeenRule {
  switch (scene.traits.source) {
    case 'masquerading':
      return masqueraded(entrance, source, scene)
    case 'the relay':
      return relayed(route, source, scene)
    case 'HNS':
      return byHns(entrance)
    default:
      return scene.traits.source satisfies never
  }
}

function masqueraded(entrance: Entrance, source: Source, scene: Scene): SeenRule {
  const { isReplaced, why } = replacement(entrance, source, scene)
  return {
    of(endpoint) {
      if (source.place === 'this node') return 'node'
      // Packets are masqueraded where they leave the node, and these stay.
      if (isNodeAddress(endpoint.ip, scene)) return 'client'
      // A pod that reaches itself must see another source, or it would answer itself directly.
      const isItself = source.ip === endpoint.ip && (endpoint.isLocal || scene.traits.hairpins === 'everywhere')
      return isReplaced || isItself ? 'node' : 'client'
    },
    why,
  }
}

function replacement(
  { keepsSourceOf }: Entrance,
  { place, isInside }: Source,
  { traffic: { masqueradeAll, localTraffic } }: Scene,
): { readonly isReplaced: boolean; readonly why: string } {
  if (place === 'this node') return { isReplaced: true, why: 'the client is this node itself' }
  switch (keepsSourceOf) {
    case 'nobody':
      return {
        isReplaced: true,
        why: 'with externalTrafficPolicy Cluster answers must come back through this node, so the address of the client is replaced by that of the node',
      }
    case 'all-but-node':
      return { isReplaced: false, why: 'externalTrafficPolicy Local keeps the address of the client' }
    case 'pods':
      if (masqueradeAll) return { isReplaced: true, why: 'masqueradeAll replaces it by the address of the node' }
      if (isInside)
        return {
          isReplaced: false,
          why: `${place === 'pod elsewhere' ? 'what counts as ' : ''}a pod on this node keeps its address`,
        }
      return localTraffic.kind === 'none'
        ? { isReplaced: false, why: 'pods cannot be told from other clients, so nobody is masqueraded' }
        : {
            isReplaced: true,
            why: 'it does not count as a pod on this node, so its address is replaced by that of the node',
          }
    default:
      return keepsSourceOf satisfies never
  }
}

function relayed({ relaying, protocol }: Route, { place }: Source, { table }: Scene): SeenRule {
  const isTransparent = relaying?.clientAddress === 'transparent' && protocol === 'TCP' && place !== 'this node'
  const mayBeClient = ({ isLocal, ip }: Endpoint) => isTransparent && isLocal && ip !== table.view.node.ip
  const header =
    relaying?.proxyProtocol === undefined || protocol !== 'TCP'
      ? ''
      : `; a PROXY protocol header (${relaying.proxyProtocol}) tells the address of the client`
  return {
    of: (endpoint) => (mayBeClient(endpoint) ? 'depends' : 'node'),
    why: isTransparent
      ? `endpoints of this node see the client where the native engine can arrange it (fairlead.dev/client-address), others the node${header}`
      : `Fairlead relays the connection from the address of the node${header}`,
  }
}

function byHns({ kind, outside }: Entrance): SeenRule {
  if (kind !== 'cluster-ip' && outside.policy === 'Local')
    return {
      of: () => 'client',
      why: 'policy Local keeps the address of the client, where HNS has direct server return',
    }
  return { of: () => 'depends', why: 'HNS replaces it where the answer would otherwise bypass this node' }
}
