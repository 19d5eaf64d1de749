/**
 * Which route has which element. Several may want the same one: ports of a Service share its cluster IP, Services share
 * endpoints, and two Services may name the same external address. The route whose key sorts first has it, so the outcome
 * does not depend on the order of events.
 */
import type { RouteKey } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import type { ContainerName } from './containers.ts'

export interface ElementId {
  readonly container: ContainerName
  readonly key: string
}

/** By the key of the element. */
export type ElementOwners = ReadonlyMap<ContainerName, VersionedMap<string, Wanting>>

/** Sorted. A list only where several routes want the element: there may be hundreds of thousands of elements. */
type Wanting = RouteKey | readonly RouteKey[]

export function ownerOf(owners: ElementOwners, { container, key }: ElementId): RouteKey | undefined {
  return first(owners.get(container)?.get(key))
}

/** Collects who wants what, for a plan that is made from scratch. */
export class OwnersDraft {
  readonly #wanting = new Map<ContainerName, Map<string, RouteKey | RouteKey[]>>()
  readonly #shared: RouteKey[][] = []

  add(route: RouteKey, elements: readonly ElementId[]): void {
    for (const { container, key } of elements) {
      const byKey = this.#in(container)
      const others = byKey.get(key)
      if (others === undefined) byKey.set(key, route)
      else if (typeof others === 'object') others.push(route)
      else byKey.set(key, this.#share(others, route))
    }
  }

  finish(): ElementOwners {
    for (const routes of this.#shared) routes.sort()
    return new Map(
      [...this.#wanting].map(([container, byKey]) => [container, new VersionedMap<string, Wanting>(byKey)]),
    )
  }

  #share(...routes: RouteKey[]): RouteKey[] {
    this.#shared.push(routes)
    return routes
  }

  #in(container: ContainerName): Map<string, RouteKey | RouteKey[]> {
    const known = this.#wanting.get(container)
    if (known !== undefined) return known
    const byKey = new Map<string, RouteKey | RouteKey[]>()
    this.#wanting.set(container, byKey)
    return byKey
  }
}

/** What a route wants no longer, and what it wants now. */
export interface WantedElements {
  readonly key: RouteKey
  readonly before: readonly ElementId[]
  readonly after: readonly ElementId[]
}

export interface OwnersEdit {
  readonly after: ElementOwners
  /** The elements that one of the routes wanted or wants, with who has them before and after. */
  readonly elements: readonly (ElementId & { readonly from: RouteKey | undefined; readonly to: RouteKey | undefined })[]
}

export function editOwners(before: ElementOwners, routes: readonly WantedElements[]): OwnersEdit {
  const drafts = new Map<ContainerName, Map<string, Set<RouteKey>>>()
  const wanting = ({ container, key }: ElementId): Set<RouteKey> => {
    const byKey = drafts.get(container) ?? new Map<string, Set<RouteKey>>()
    drafts.set(container, byKey)
    const known = byKey.get(key) ?? new Set(listOf(before.get(container)?.get(key)))
    byKey.set(key, known)
    return known
  }
  for (const route of routes) {
    for (const element of route.before) wanting(element).delete(route.key)
    for (const element of route.after) wanting(element).add(route.key)
  }

  const after = new Map(before)
  const elements: OwnersEdit['elements'][number][] = []
  for (const [container, byKey] of drafts) {
    const old = before.get(container) ?? new VersionedMap<string, Wanting>()
    const changes = new Map<string, Wanting | undefined>()
    for (const [key, set] of byKey) {
      const was = old.get(key)
      const now = wantingOf([...set].sort())
      elements.push({ container, key, from: first(was), to: first(now) })
      if (was !== now) changes.set(key, now)
    }
    after.set(container, old.with(changes))
  }
  return { after, elements }
}

function first(wanting: Wanting | undefined): RouteKey | undefined {
  return typeof wanting === 'object' ? wanting[0] : wanting
}

function listOf(wanting: Wanting | undefined): readonly RouteKey[] {
  if (wanting === undefined) return []
  return typeof wanting === 'object' ? wanting : [wanting]
}

function wantingOf(sorted: readonly RouteKey[]): Wanting | undefined {
  return sorted.length > 1 ? sorted : sorted[0]
}
