/** The smallest restore input that leads from what was written to what is wanted, for the routes that changed. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { nodePortTail } from './fixed-chains.ts'
import { renderRoute } from './rendered-route.ts'
import type { RenderedRoute, SharedLine } from './rendered-route.ts'
import { renderRule } from './render-rule.ts'
import type { RestoreInput } from './restore-input.ts'
import { largeClusterEndpoints } from './settings.ts'
import type { IptablesSettings } from './settings.ts'
import { topChains } from './top-chains.ts'
import type { Written, WrittenRoute } from './written.ts'

/** How the changed routes shall be; undefined for those that are gone. */
export type WantedRoutes<R extends HasRules = WrittenRoute> = ReadonlyMap<RouteKey, R | undefined>

/** All that an edit must know of a route. */
export interface HasRules {
  readonly rendered: RenderedRoute
}

export function wantedRoutes(
  written: Written,
  view: NodeView,
  settings: IptablesSettings,
  keys: readonly RouteKey[],
): WantedRoutes {
  let endpoints = written.endpoints
  for (const key of keys)
    endpoints += (view.routesByKey.get(key)?.endpoints.length ?? 0) - (written.get(key)?.route.endpoints.length ?? 0)
  const options = { settings, isLargeCluster: endpoints > largeClusterEndpoints }
  const wanted = new Map<RouteKey, WrittenRoute | undefined>()
  for (const key of keys) {
    const route = view.routesByKey.get(key)
    if (route === undefined) wanted.set(key, undefined)
    // A route that is still the same object has not changed. After a repair all of them are listed.
    else if (route !== written.get(key)?.route) wanted.set(key, { route, rendered: renderRoute(route, options) })
  }
  return wanted
}

export function writeEdits(
  written: { get(key: RouteKey): HasRules | undefined },
  wantedByKey: WantedRoutes<HasRules>,
  input: RestoreInput,
): void {
  const edits = [...wantedByKey].map(([key, route]) => [written.get(key)?.rendered, route?.rendered] as const)
  // Chains that stay come first: a rule can only jump to a chain that exists. Chains that go are last: nothing may
  // jump to them any more.
  for (const [before, after] of edits) fillChangedChains(before, after, input)
  for (const [before, after] of edits) replaceSharedRules(before, after, input)
  for (const [before, after] of edits) deleteChains(before, after, input)
}

/** The last rules of nat/KUBE-SERVICES, when the node's addresses have changed. */
export function replaceTail(before: IptablesSettings, after: IptablesSettings, input: RestoreInput): void {
  const old = nodePortTail(before).map(renderRule)
  const now = nodePortTail(after).map(renderRule)
  if (isSameText(old, now)) return
  for (const rule of old) input.delete('nat', topChains.services, rule)
  for (const rule of now) input.append('nat', topChains.services, rule)
}

type Side = RenderedRoute | undefined

function fillChangedChains(before: Side, after: Side, input: RestoreInput): void {
  const linesByChain = new Map(before?.chains.map(({ name, lines }) => [name, lines]))
  for (const chain of after?.chains ?? []) if (linesByChain.get(chain.name) !== chain.lines) input.fill('nat', chain)
}

/**
 * Shared chains are not rewritten: that would cost as much as there are Services. The rules of a route in one chain
 * are exchanged together, and the new ones go on top, so that they keep their order and stay before the last rule.
 */
function replaceSharedRules(before: Side, after: Side, input: RestoreInput): void {
  const oldByPlace = byPlace(before?.shared ?? [])
  const newByPlace = byPlace(after?.shared ?? [])
  for (const place of new Set([...oldByPlace.keys(), ...newByPlace.keys()])) {
    const old = oldByPlace.get(place) ?? []
    const now = newByPlace.get(place) ?? []
    if (isSameText(old.map(textOf), now.map(textOf))) continue
    for (const { table, chain, rule } of old) input.delete(table, chain, rule)
    for (const { table, chain, rule } of [...now].reverse()) input.insert(table, chain, rule)
  }
}

function deleteChains(before: Side, after: Side, input: RestoreInput): void {
  const kept = new Set(after?.chains.map(({ name }) => name))
  for (const { name } of before?.chains ?? []) if (!kept.has(name)) input.deleteChain('nat', name)
}

function byPlace(lines: readonly SharedLine[]): ReadonlyMap<string, readonly SharedLine[]> {
  const places = new Map<string, SharedLine[]>()
  for (const line of lines) {
    const place = `${line.table} ${line.chain}`
    const known = places.get(place)
    if (known === undefined) places.set(place, [line])
    else known.push(line)
  }
  return places
}

function textOf({ rule }: SharedLine): string {
  return rule
}

function isSameText(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((text, index) => text === right[index])
}
