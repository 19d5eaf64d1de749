/** Whose address an endpoint sees. */
import type { Endpoint, Entrance, Route } from '../route.ts'
import type { Source, SourceSeen } from './explanation.ts'
import { cidrContains, parseCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'
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
      return relayed(entrance, route, source, scene)
    case 'HNS':
      return byHns(entrance)
    default:
      return scene.traits.source satisfies never
  }
}

function masqueraded(entrance: Entrance, source: Source, scene: Scene): SeenRule {
  const { isReplaced, why } = replacement(entrance, source, scene)
  const untracked = untrackedRangesOf(source.ip, scene)
  const isUntracked = (ip: string) => untracked.some((range) => cidrContains(range, ip))
  return {
    of(endpoint) {
      if (source.place === 'this node') return 'node'
      // Packets are masqueraded where they leave the node, and these stay.
      if (isNodeAddress(endpoint.ip, scene)) return 'client'
      // A pod that reaches itself must see another source, or it would answer itself directly.
      const isItself = source.ip === endpoint.ip && (endpoint.isLocal || scene.traits.hairpins === 'everywhere')
      return isReplaced || isItself || isUntracked(endpoint.ip) ? 'node' : 'client'
    },
    why:
      isReplaced || untracked.length === 0
        ? why
        : `${why}, but pods in its range of --ebpf-untracked-pods see the node, because connections between them are not tracked`,
  }
}

/** Those that the client is in. */
function untrackedRangesOf(client: string | undefined, { traits }: Scene): readonly Cidr[] {
  if (client === undefined) return []
  const ranges = (traits.untrackedPods ?? []).flatMap((text) => parseCidr(text) ?? [])
  return ranges.filter((range) => cidrContains(range, client))
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

function relayed(entrance: Entrance, route: Route, source: Source, scene: Scene): SeenRule {
  const { relaying, protocol } = route
  const header =
    relaying?.proxyProtocol === undefined || protocol !== 'TCP'
      ? ''
      : `; a PROXY protocol header (${relaying.proxyProtocol}) tells the address of the client`
  const { isReplaced, why } = replacementByRelay(entrance, route, source, scene)
  return {
    of: (endpoint) => (isReplaced || !answersComePast(endpoint, source, scene) ? 'node' : 'client'),
    why: isReplaced ? why + header : `${why}; endpoints that would not answer through this node see the node${header}`,
  }
}

function replacementByRelay(
  entrance: Entrance,
  { relaying, protocol }: Route,
  source: Source,
  scene: Scene,
): ReturnType<typeof replacement> {
  const { relaysAsClientIn, relaysAsNodeBecause } = scene.traits
  if (!relaysAsClientIn.includes(scene.family) || protocol !== 'TCP') {
    const reason = protocol === 'TCP' ? relaysAsNodeBecause?.[scene.family] : undefined
    const why = 'Fairlead relays the connection from the address of the node'
    return { isReplaced: true, why: reason === undefined ? why : `${why} (${reason})` }
  }
  const wish = relaying?.clientAddress
  switch (wish) {
    case undefined:
      return replacement(entrance, source, scene)
    case 'node':
      return { isReplaced: true, why: 'the Service wants it so (fairlead.dev/client-address: node)' }
    case 'transparent':
      return {
        isReplaced: false,
        why: 'the Service wants the client to be seen (fairlead.dev/client-address: transparent)',
      }
    default:
      return wish satisfies never
  }
}

/** As the native engine finds it out, which knows the devices; see `native/relay/pose.c`. */
function answersComePast({ ip, isLocal }: Endpoint, { ip: from, place, isInside }: Source, scene: Scene): boolean {
  if (place === 'this node' || isNodeAddress(ip, scene) || from === ip) return false
  const isOwnPod = place === 'pod on this node' && isInside
  if (!isLocal) return isOwnPod
  // Pods of one bridge answer each other directly.
  return !(isOwnPod && scene.traffic.localTraffic.kind === 'interface')
}

function byHns({ kind, outside }: Entrance): SeenRule {
  if (kind !== 'cluster-ip' && outside.policy === 'Local')
    return {
      of: () => 'client',
      why: 'policy Local keeps the address of the client, where HNS has direct server return',
    }
  return { of: () => 'depends', why: 'HNS replaces it where the answer would otherwise bypass this node' }
}
