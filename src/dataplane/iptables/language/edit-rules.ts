/** The smallest restore input that leads from the rules of some routes to other rules. */
import type { RouteKey } from '../../../core/route.ts'
import type { RenderedRoute, SharedLine } from './rendered-rules.ts'
import type { RestoreInput } from './restore-input.ts'

/** All that an edit must know of a route. */
interface HasRules {
  readonly rendered: RenderedRoute
}

export function writeEdits(
  beforeByKey: { get(key: RouteKey): HasRules | undefined },
  /** How the changed routes shall be; undefined for those that are gone. */
  afterByKey: ReadonlyMap<RouteKey, HasRules | undefined>,
  input: RestoreInput,
): void {
  const edits = [...afterByKey].map(([key, route]) => [beforeByKey.get(key)?.rendered, route?.rendered] as const)
  // Chains that stay come first: a rule can only jump to a chain that exists. Chains that go are last: nothing may
  // jump to them any more.
  for (const [before, after] of edits) fillChangedChains(before, after, input)
  for (const [before, after] of edits) replaceSharedRules(before, after, input)
  for (const [before, after] of edits) deleteChains(before, after, input)
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
    if (areSameRules(old, now)) continue
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

function areSameRules(left: readonly SharedLine[], right: readonly SharedLine[]): boolean {
  return left.length === right.length && left.every(({ rule }, index) => rule === right[index]?.rule)
}
