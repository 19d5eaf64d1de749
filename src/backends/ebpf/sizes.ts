/** How much room routes need in the maps, and how large maps are made. */
import { extentSize } from './arena.ts'
import type { Arena } from './arena.ts'
import type { SocketRoute } from './frontends-of.ts'
import { listNames } from './frontends-of.ts'
import type { BpfMap, MapSpec } from '../../dataplane/ebpf/bpf.ts'
import type { MapName } from './layout.ts'

/** Elements. */
export interface Needs {
  readonly frontends: number
  readonly services: number
  readonly slots: number
  readonly endpoints: number
}

/** As they are made. */
export type MapSpecs = Readonly<Record<MapName, MapSpec>>

export function specsOf(maps: Readonly<Record<MapName, Pick<BpfMap, 'spec'>>>): MapSpecs {
  return Object.fromEntries(Object.entries(maps).map(([name, { spec }]) => [name, spec])) as Record<MapName, MapSpec>
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
  return kinds.some((of) => needs[of] > full * capacities[of])
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

/** Twice as large, as often as it takes. Only those that are too small, or smaller than another one with the same elements. */
export function sizesFor(needs: Needs, specs: MapSpecs): MapSizes {
  const sizes = new Map<MapName, number>()
  for (const of of kinds) {
    const maps = mapsOf[of]
    let size = Math.max(...maps.map((map) => specs[map].maxEntries))
    while (needs[of] > full * (size - reserved[of])) size *= 2
    for (const map of maps) if (specs[map].maxEntries < size) sizes.set(map, size)
  }
  return sizes
}

/**
 * How many elements have a place in each map that they need. Larger maps are pinned one after the other, and a process that ended
 * meanwhile has left some of both sizes.
 */
export function placesIn(specs: MapSpecs): Needs {
  const placesOf = (of: keyof Needs) => Math.min(...mapsOf[of].map((map) => specs[map].maxEntries))
  return {
    frontends: placesOf('frontends'),
    services: placesOf('services'),
    slots: placesOf('slots'),
    endpoints: placesOf('endpoints'),
  }
}

export function capacitiesOf(specs: MapSpecs): Needs {
  const { frontends, services, slots, endpoints } = placesIn(specs)
  return {
    frontends: frontends - reserved.frontends,
    services: services - reserved.services,
    slots: slots - reserved.slots,
    endpoints: endpoints - reserved.endpoints,
  }
}

/** Programs never look at the first elements of an array: 0 means nothing, and 1 in a list word is `refuse`. */
export const reserved = { frontends: 0, services: 1, slots: 2, endpoints: 1 } as const

/** What has a place in one of them has one in all. */
const mapsOf: Readonly<Record<keyof Needs, readonly MapName[]>> = {
  frontends: ['frontends'],
  services: ['services', 'service_stats', 'affinity'],
  slots: ['slots'],
  endpoints: ['endpoints', 'endpoint_stats'],
}

const kinds = Object.keys(mapsOf) as readonly (keyof Needs)[]
