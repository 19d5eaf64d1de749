/** How much room routes need in the maps, and how large maps are made. */
import { extentSize } from './arena.ts'
import type { Arena } from './arena.ts'
import type { SocketRoute } from './frontends-of.ts'
import { listNames } from './frontends-of.ts'
import type { MapName } from './layout.ts'

/** Elements. */
export interface Needs {
  readonly frontends: number
  readonly services: number
  readonly slots: number
  readonly endpoints: number
}

export type MapSizes = ReadonlyMap<MapName, number>

/** At most, if all of it is new. */
export function needsOf(routes: Iterable<SocketRoute | undefined>): Needs {
  const needs = { frontends: 0, services: 0, slots: 0, endpoints: 0 }
  for (const route of routes) {
    if (route === undefined || route.frontends.length === 0) continue
    needs.frontends += route.frontends.length
    needs.services += 1
    needs.endpoints += route.endpoints.length
    for (const name of listNames) {
      const list = route.lists[name]
      if (list.kind === 'endpoints') needs.slots += extentSize(list.addresses.length)
    }
  }
  return needs
}

export function sumOf(one: Needs, other: Needs): Needs {
  return {
    frontends: one.frontends + other.frontends,
    services: one.services + other.services,
    slots: one.slots + other.slots,
    endpoints: one.endpoints + other.endpoints,
  }
}

/** Fuller than this, and the next change may find no room. */
const full = 0.8

export function isTooFull(needs: Needs, capacities: Needs): boolean {
  return sized.some(({ of }) => needs[of] > full * capacities[of])
}

/** Everything that is in use, and that rests, and these. */
export function fits(arena: Arena, needs: Needs): boolean {
  return (
    arena.indexes.hasRoomFor(needs.services) &&
    arena.ids.hasRoomFor(needs.endpoints) &&
    arena.slots.hasRoomFor(needs.slots) &&
    arena.freeFrontends >= needs.frontends
  )
}

/** Twice as large, as often as it takes. */
export function sizesFor(needs: Needs, capacities: Needs): MapSizes {
  const sizes = new Map<MapName, number>()
  for (const { of, maps } of sized) {
    let size = capacities[of]
    while (needs[of] > full * size) size *= 2
    if (size > capacities[of]) for (const map of maps) sizes.set(map, size)
  }
  return sizes
}

const sized: readonly { readonly of: keyof Needs; readonly maps: readonly MapName[] }[] = [
  { of: 'frontends', maps: ['frontends'] },
  { of: 'services', maps: ['services', 'service_stats'] },
  { of: 'slots', maps: ['slots'] },
  { of: 'endpoints', maps: ['endpoints', 'endpoint_stats'] },
]
