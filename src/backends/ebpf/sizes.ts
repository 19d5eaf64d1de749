/** How much room routes need in the maps, and how large maps are made. */
import type { RouteKey } from '../../core/route.ts'
import { extentSize } from './arena.ts'
import type { Arena } from './arena.ts'
import { listNames } from './frontends-of.ts'
import type { PlannedList, SocketRoute } from './frontends-of.ts'
import { isSameList } from './held.ts'
import type { BpfMap, MapSpec } from '../../dataplane/ebpf/bpf.ts'
import type { ListName, MapName } from './layout.ts'
import type { SocketPlan } from './plan.ts'

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
    for (const name of listNames) needs.slots += slotsOf(route.lists[name])
  }
  return needs
}

/** What is new of routes that are changed: the rest has its place. */
export function newNeedsOf(before: SocketPlan, routes: ReadonlyMap<RouteKey, SocketRoute | undefined>): Needs {
  let needs: Needs = { frontends: 0, services: 0, slots: 0, endpoints: 0 }
  for (const [key, route] of routes) {
    const held = before.routesByKey.get(key)?.held
    if (held === undefined || route === undefined) {
      needs = sumOf(needs, needsOf([route]))
      continue
    }
    const slotsFor = (name: ListName) =>
      isSameList(held.lists[name], route.lists[name]) ? 0 : slotsOf(route.lists[name])
    needs = sumOf(needs, {
      frontends: route.frontends.filter(({ id }) => !before.frontendsById.has(id)).length,
      services: 0,
      slots: slotsFor('internal') + slotsFor('external'),
      endpoints: route.endpoints.filter(({ address }) => !held.recordsByAddress.has(address)).length,
    })
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

function slotsOf(list: PlannedList): number {
  return list.kind === 'endpoints' ? extentSize(list.addresses.length) : 0
}

export function mostOf(one: Needs, other: Needs): Needs {
  return {
    frontends: Math.max(one.frontends, other.frontends),
    services: Math.max(one.services, other.services),
    slots: Math.max(one.slots, other.slots),
    endpoints: Math.max(one.endpoints, other.endpoints),
  }
}

/** Fuller than this, and the next change may find no room. */
const full = 0.8

export function isTooFull(needs: Needs, capacities: Needs): boolean {
  return kinds.some((of) => needs[of] > full * capacities[of])
}

/** There is more room for these once what rests may be used again. Frontends never rest. */
export function needsWhatRests({ indexes, ids, slots }: Arena, needs: Needs): boolean {
  return (
    indexes.isShortUntilWoken(needs.services) ||
    ids.isShortUntilWoken(needs.endpoints) ||
    slots.isShortUntilWoken(needs.slots)
  )
}

export function isLessInUse(now: Needs, before: Needs): boolean {
  return kinds.some((of) => now[of] < before[of])
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
