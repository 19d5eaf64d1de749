/**
 * Through which door of the relay a client comes. A socket cannot tell which address its client used, so each policy has
 * a proxy port of its own, and so has each rule about whose address endpoints see. The Route has both; nothing is decided
 * here.
 */
import type { TrafficPolicy } from '../../../api/records.ts'
import type { Entrance, Outcome, Route } from '../../../core/route.ts'
import type { KeptClients } from '../../../dataplane/relay/relay.ts'
import type { PortalSettings } from './settings.ts'

export interface Door {
  readonly policy: TrafficPolicy
  /** Whose address endpoints see, if that is possible for the endpoint; that of others is replaced by the node's. */
  readonly keeps: 'nobody' | KeptClients['of']
}

export interface DoorInUse extends Door {
  readonly outcome: Outcome
}

/** For clients on this node, and for all others. */
export interface Doors {
  readonly inside: Door
  readonly outside: Door
}

export type DoorName = `${TrafficPolicy} ${Door['keeps']}`

export function doorName({ policy, keeps }: Door): DoorName {
  return `${policy} ${keeps}`
}

export function doorsOf(entrance: Entrance, route: Route, settings: PortalSettings): Doors {
  const keeps = keepsAt(entrance, route, settings)
  return {
    inside: { policy: entrance.inside.policy, keeps: keeps.inside },
    outside: { policy: entrance.outside.policy, keeps: keeps.outside },
  }
}

/** Each once, in an order that does not depend on that of the entrances. */
export function doorsInUse(route: Route, settings: PortalSettings): readonly DoorInUse[] {
  const byName = new Map<DoorName, DoorInUse>()
  for (const entrance of route.entrances) {
    const { inside, outside } = doorsOf(entrance, route, settings)
    byName.set(doorName(inside), { ...inside, outcome: entrance.inside })
    byName.set(doorName(outside), { ...outside, outcome: entrance.outside })
  }
  return [...byName.values()].sort((left, right) => (doorName(left) < doorName(right) ? -1 : 1))
}

/** Whether the relay shall dial from the address of some client of the route. */
export function keepsSomebody(route: Route, settings: PortalSettings): boolean {
  return doorsInUse(route, { ...settings, keepsClients: true }).some(({ keeps }) => keeps !== 'nobody')
}

interface Keeps {
  readonly inside: Door['keeps']
  readonly outside: Door['keeps']
}

const nobody: Keeps = { inside: 'nobody', outside: 'nobody' }
const everybody: Keeps = { inside: 'everybody', outside: 'everybody' }

function keepsAt(
  { keepsSourceOf }: Entrance,
  { relaying, protocol }: Route,
  { keepsClients, masqueradeAll, localTraffic }: PortalSettings,
): Keeps {
  const wish = relaying?.clientAddress
  if (!keepsClients || protocol !== 'TCP' || wish === 'node') return nobody
  if (wish === 'transparent') return everybody
  // Where pods cannot be told, the kernel modes masquerade nobody.
  const pods = localTraffic.kind === 'none' ? 'everybody' : 'pods'
  switch (keepsSourceOf) {
    case 'nobody':
      return nobody
    case 'pods':
      return masqueradeAll ? nobody : { inside: pods, outside: pods }
    case 'all-but-node':
      // Who is inside and not the node itself is a pod. The relay never keeps the address of the node.
      return { inside: pods, outside: 'everybody' }
    default:
      return keepsSourceOf satisfies never
  }
}
