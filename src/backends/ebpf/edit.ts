/**
 * The steps that lead from what the tables hold to what some changed routes want, in an order in which every socket meets a
 * Service as it was before or as it is after:
 *
 * 1. frontends that go, so that the packets decide there;
 * 2. records, lists and services that nothing leads to yet;
 * 3. endpoints that new clients of a list may get, then the lists, each at once;
 * 4. frontends that come, or lead to another service;
 * 5. endpoints that new clients of a list may get no more, and endpoints and services that have ended.
 *
 * What is out of use then goes back to the arena, and rests.
 */
import type { RouteKey } from '../../core/route.ts'
import type { PackedEntries } from '../../dataplane/ebpf/packed-entries.ts'
import { addressBytes } from './address-bytes.ts'
import type { Arena, Extent } from './arena.ts'
import type { FrontendId, SocketRoute } from './frontends-of.ts'
import type { HeldFrontend, HeldRecord, HeldService } from './held.ts'
import { generationStep } from './config-steps.ts'
import { encodeFrontendKey, encodeFrontendTarget, layout } from './layout.ts'
import type { FrontendTarget } from './layout.ts'
import { newMemory } from './memory.ts'
import type { Memory } from './memory.ts'
import type { PlacedRoute, SocketPlan } from './plan.ts'
import { ServiceEdit } from './service-edit.ts'
import type { NodeState } from './settings.ts'
import type { Step } from './steps.ts'

export interface SocketEdit {
  readonly steps: readonly Step[]
  /** What the tables hold then. */
  readonly after: SocketPlan
  /** Nothing leads there any more, once the steps are done. */
  readonly retired: Retired
}

export interface Retired {
  readonly indexes: readonly number[]
  readonly ids: readonly number[]
  readonly extents: readonly Extent[]
}

/** What was found in the tables and belongs to no route. */
export interface Orphans {
  readonly services: readonly HeldService[]
  readonly records: readonly HeldRecord[]
  readonly frontendIds: readonly FrontendId[]
  /** Keys that mean nothing. */
  readonly strangeKeys: readonly Uint8Array[]
}

const noOrphans: Orphans = { services: [], records: [], frontendIds: [], strangeKeys: [] }

/** `routes` are those that changed; undefined for one that is gone. */
export function editSockets(
  before: SocketPlan,
  routes: ReadonlyMap<RouteKey, SocketRoute | undefined>,
  node: NodeState,
  arena: Arena,
  orphans: Orphans = noOrphans,
): SocketEdit {
  const services = new ServiceEdit(arena)
  const placed = new Map<RouteKey, PlacedRoute | undefined>()
  const withoutRoom = new Set(before.withoutRoom)
  for (const [key, route] of routes) {
    withoutRoom.delete(key)
    const held = before.routesByKey.get(key)?.held
    if (route === undefined || route.frontends.length === 0) {
      if (held !== undefined) services.end(held)
      placed.set(key, route && { route, held: undefined })
      continue
    }
    let fresh = 0
    for (const { id } of route.frontends) if (!before.frontendsById.has(id)) fresh++
    const after = fresh <= arena.freeFrontends ? services.change(held, route) : undefined
    if (after !== undefined) arena.freeFrontends -= fresh
    else {
      if (held !== undefined) services.end(held)
      withoutRoom.add(key)
    }
    placed.set(key, { route, held: after })
  }
  for (const service of orphans.services) services.end(service)
  for (const record of orphans.records) services.endRecord(record)
  const frontends = editFrontends(before, placed, services.changedIndexes, orphans)
  arena.freeFrontends += frontends.goneCount
  const addresses = editAddresses(before.node.nodePortIps, node.nodePortIps)
  return {
    steps: [
      ...reserveStep(arena),
      ...deletion('frontends', [...frontends.deleted, ...orphans.strangeKeys]),
      ...deletion('node_addresses', addresses.deleted),
      ...services.fills.steps,
      ...services.opened,
      ...services.switched,
      ...update('frontends', frontends.updated),
      ...update('node_addresses', addresses.updated),
      ...services.closed,
    ],
    after: {
      node,
      routesByKey: before.routesByKey.with(placed),
      frontendsById: before.frontendsById.with(frontends.changes),
      withoutRoom: withoutRoom.size === 0 && before.withoutRoom.size === 0 ? before.withoutRoom : withoutRoom,
    },
    retired: services.retired,
  }
}

/** After the steps are done. */
export function retire(arena: Arena, { indexes, ids, extents }: Retired): void {
  for (const base of indexes) arena.indexes.retire({ base, size: 1 })
  for (const base of ids) arena.ids.retire({ base, size: 1 })
  for (const extent of extents) arena.slots.retire(extent)
}

interface FrontendsEdit {
  readonly deleted: readonly Uint8Array[]
  readonly updated: PackedEntries
  readonly changes: ReadonlyMap<FrontendId, HeldFrontend | undefined>
  readonly goneCount: number
}

/** An address may pass from one route to another, so all changed routes are looked at together. */
function editFrontends(
  before: SocketPlan,
  placed: ReadonlyMap<RouteKey, PlacedRoute | undefined>,
  changedIndexes: ReadonlySet<number>,
  orphans: Orphans,
): FrontendsEdit {
  const wanted = wantedFrontends(placed)
  const changes = new Map<FrontendId, HeldFrontend | undefined>()
  const deleted: Uint8Array[] = []
  const updated = new FrontendEntries(wanted.size)
  for (const [id, after] of wanted) {
    const held = before.frontendsById.get(id)
    if (held?.target !== undefined && isSameTarget(held.target, after.target)) continue
    // Where its service becomes that of another route meanwhile, the packets decide until it leads to its own.
    if (held?.target !== undefined && changedIndexes.has(held.target.service))
      deleted.push(encodeFrontendKey(after.frontend))
    updated.add(after)
    changes.set(id, after)
  }
  let goneCount = 0
  const leave = (id: FrontendId, isOwn: (held: HeldFrontend) => boolean) => {
    const held = before.frontendsById.get(id)
    if (held === undefined || wanted.has(id) || changes.has(id) || !isOwn(held)) return
    deleted.push(encodeFrontendKey(held.frontend))
    changes.set(id, undefined)
    goneCount++
  }
  for (const key of placed.keys()) {
    const route = before.routesByKey.get(key)
    const index = route?.held?.index
    for (const { id } of route?.route.frontends ?? []) leave(id, ({ target }) => target?.service === index)
  }
  for (const id of orphans.frontendIds) leave(id, () => true)
  return { deleted, updated: updated.packed, changes, goneCount }
}

/** In memory that is there for all of them from the first one on. */
class FrontendEntries {
  readonly #most: number
  #memory: { readonly keys: Memory; readonly values: Memory } | undefined
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  add({ frontend, target }: WantedFrontend): void {
    this.#memory ??= {
      keys: newMemory(this.#most * layout.frontendKey.size),
      values: newMemory(this.#most * layout.frontend.size),
    }
    const [keyAt, valueAt] = [this.#count * layout.frontendKey.size, this.#count * layout.frontend.size]
    const keys = encodeFrontendKey(frontend, this.#memory.keys, keyAt)
    encodeFrontendTarget(target, keys, keyAt, this.#memory.values, valueAt)
    this.#count++
  }

  get packed(): PackedEntries {
    if (this.#memory === undefined) return noEntries
    return {
      keys: this.#memory.keys.bytes.subarray(0, this.#count * layout.frontendKey.size),
      values: this.#memory.values.bytes.subarray(0, this.#count * layout.frontend.size),
    }
  }
}

type WantedFrontend = HeldFrontend & { readonly target: FrontendTarget }

function wantedFrontends(
  placed: ReadonlyMap<RouteKey, PlacedRoute | undefined>,
): ReadonlyMap<FrontendId, WantedFrontend> {
  const wanted = new Map<FrontendId, WantedFrontend>()
  for (const it of placed.values()) {
    if (it?.held === undefined) continue
    for (const { id, frontend, list } of it.route.frontends)
      wanted.set(id, { frontend, target: { service: it.held.index, list } })
  }
  return wanted
}

function isSameTarget(one: FrontendTarget, other: FrontendTarget): boolean {
  return one.service === other.service && one.list === other.list
}

const noEntries: PackedEntries = { keys: new Uint8Array(), values: new Uint8Array() }

function editAddresses(before: ReadonlySet<string>, after: ReadonlySet<string>) {
  // So it is in nearly every sync.
  if (before === after) return { deleted: [], updated: noEntries }
  return {
    deleted: [...before].filter((ip) => !after.has(ip)).map(addressBytes),
    updated: openAddresses([...after].filter((ip) => !before.has(ip))),
  }
}

function openAddresses(ips: readonly string[]): PackedEntries {
  // Only the key matters.
  const isOpen = Buffer.from([1, 0, 0, 0])
  return { keys: Buffer.concat(ips.map(addressBytes)), values: Buffer.concat(ips.map(() => isOpen)) }
}

function deletion(map: 'frontends' | 'node_addresses', keys: readonly Uint8Array[]): readonly Step[] {
  return keys.length === 0 ? [] : [{ do: 'delete', map, keys }]
}

function update(map: 'frontends' | 'node_addresses', entries: PackedEntries): readonly Step[] {
  return entries.keys.length === 0 ? [] : [{ do: 'update', map, entries }]
}

/** Before the first of them is used: a process that comes after a crash must not use them again. */
function reserveStep(arena: Arena): readonly Step[] {
  const next = arena.reserve()
  return next === undefined ? [] : [generationStep(next)]
}
