/** Walks a packet through a table as the kernel does: hook by hook, chain by chain, rule by rule. */
import type { ChainHook } from '../../../dataplane/nft/nft.ts'
import { describeArrival } from './fate.ts'
import type { Ending } from './fate.ts'
import { certain } from './fraction.ts'
import type { KernelRule } from './kernel-rule.ts'
import { isLocalAddress } from './packet.ts'
import type { Packet, PacketNode } from './packet.ts'
import type { Ruleset } from './ruleset.ts'
import { runRule } from './run-rule.ts'
import type { Memory, Scene, Travel } from './run-rule.ts'

export interface WalkedEnding extends Ending {
  /** Sets that the source was put into. */
  readonly remembers: readonly string[]
}

export function endingsOf(
  ruleset: Ruleset,
  node: PacketNode,
  packet: Packet,
  memory: Memory = new Map(),
): readonly WalkedEnding[] {
  const scene = { ruleset, node, packet, memory }
  const { enters } = packet
  const places = passHook(scene, enters, [startOf(packet)])
  return places
    .flatMap((place) => (enters === 'output' ? leave(scene, place) : route(scene, place)))
    .map(({ travel, end }) => ({
      chance: travel.chance,
      outcome: end === 'none' ? describe(scene, travel) : end,
      remembers: travel.remembers,
    }))
}

/** Whether a packet that comes in finds the connection that it answers. */
export function isTracked(ruleset: Ruleset, node: PacketNode, packet: Packet): boolean {
  const scene = { ruleset, node, packet, memory: new Map() }
  return passHook(scene, 'prerouting', [startOf(packet)], ['filter']).every(({ travel }) => !travel.isUntracked)
}

function startOf({ source, destination, port }: Packet): Place {
  const untouched = { mark: 0, isTranslated: false, isHidden: false, isUntracked: false, remembers: [] }
  return { travel: { source, destination, port, ...untouched, chance: certain }, end: 'none' }
}

/** Where a packet is: still on its way, or at an end of this chain or of everything. */
interface Place {
  readonly travel: Travel
  readonly end: 'none' | 'accepted' | 'dropped' | 'rejected'
}

function route(scene: Scene, place: Place): readonly Place[] {
  if (isLocalAddress(scene.node, place.travel.destination)) return passHook(scene, 'input', [place])
  return passHook(scene, 'postrouting', passHook(scene, 'forward', [place]))
}

/** What a program sends to its own node comes back through loopback, as the same new connection. */
function leave(scene: Scene, place: Place): readonly Place[] {
  return passHook(scene, 'postrouting', [place]).flatMap((left) =>
    isLocalAddress(scene.node, left.travel.destination)
      ? passHook(scene, 'input', passHook(scene, 'prerouting', [left], ['filter']))
      : [left],
  )
}

/** The kernel asks for a translation once per connection and direction, so not again after loopback. */
function passHook(
  scene: Scene,
  hook: ChainHook['hook'],
  places: readonly Place[],
  types: readonly ChainHook['type'][] = ['filter', 'nat'],
): readonly Place[] {
  const chains = scene.ruleset.baseChains.filter((chain) => chain.hook.hook === hook && types.includes(chain.hook.type))
  return chains.reduce(
    (before, { rules, hook: { type } }) =>
      before.flatMap((place) =>
        place.end === 'none' && !(type === 'nat' && place.travel.isUntracked)
          ? walkRules(scene, rules, 0, place.travel).map(stillOnItsWay)
          : [place],
      ),
    places,
  )
}

/** From this rule to the end of the chain. */
function walkRules(scene: Scene, rules: readonly KernelRule[], at: number, travel: Travel): readonly Place[] {
  const rule = rules[at]
  if (rule === undefined) return [{ travel, end: 'none' }]
  return runRule(scene, rule, travel).flatMap(({ travel: now, verdict }): readonly Place[] => {
    switch (verdict.kind) {
      case 'continue':
        return walkRules(scene, rules, at + 1, now)
      case 'jump':
        return walkChain(scene, verdict.chain, now).flatMap((place) =>
          place.end === 'none' ? walkRules(scene, rules, at + 1, place.travel) : [place],
        )
      case 'goto':
        // It does not come back here, but to where this chain was jumped to from.
        return walkChain(scene, verdict.chain, now)
      case 'return':
        return [{ travel: now, end: 'none' }]
      case 'accept':
        return [{ travel: now, end: 'accepted' }]
      case 'drop':
        return [{ travel: now, end: 'dropped' }]
      case 'reject':
        return [{ travel: now, end: 'rejected' }]
      default:
        return verdict satisfies never
    }
  })
}

function walkChain(scene: Scene, name: string, travel: Travel): readonly Place[] {
  const chain = scene.ruleset.chains.get(name)
  if (chain === undefined) throw new Error(`a packet was sent to the chain ${name}, which does not exist`)
  return walkRules(scene, chain.rules, 0, travel)
}

/** Other chains of the hook, and other hooks, still have their say about what one accepts. */
function stillOnItsWay(place: Place): Place {
  return place.end === 'accepted' ? { ...place, end: 'none' } : place
}

function describe({ packet, node }: Scene, { isTranslated, isHidden, destination, port, mark }: Travel): string {
  const arrival = describeArrival({ endpoint: isTranslated ? { ip: destination, port } : undefined, isHidden })
  // The mark of what stays here is forgotten; what is sent on with it could be masqueraded once more.
  const isSentOn = packet.enters === 'output' || !isLocalAddress(node, destination)
  return isSentOn && mark !== 0 ? `${arrival}, marked` : arrival
}
