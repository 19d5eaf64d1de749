/** Compares the pieces of a route with what is there. What cannot be read is said to be so, and the rest is compared. */
import type { InspectedPiece, Inspection, PlannedPiece } from './inspection.ts'

/** Pieces that are read together. */
export interface Look {
  readonly pieces: readonly PlannedPiece[]
  /** In the same order; what nobody planned may stand in between. */
  compare(signal: AbortSignal): Promise<readonly InspectedPiece[]>
}

export async function inspectPieces(looks: readonly Look[], signal: AbortSignal): Promise<Inspection> {
  const pieces: InspectedPiece[] = []
  const reasons = new Set<string>()
  for (const look of looks) {
    if (look.pieces.length === 0) continue
    try {
      pieces.push(...(await look.compare(signal)))
    } catch (error) {
      signal.throwIfAborted()
      reasons.add(error instanceof Error ? error.message : String(error))
      pieces.push(...look.pieces.map((piece) => ({ ...piece, state: 'not read' as const })))
    }
  }
  return reasons.size === 0 ? { pieces } : { pieces, notRead: [...reasons].join('; ') }
}

/** Where a thing is either there or not. */
export function thereOrMissing(piece: PlannedPiece, isThere: boolean): InspectedPiece {
  return { ...piece, state: isThere ? 'as planned' : 'missing' }
}

/** Where a thing may be there with another content. Undefined: it is not there. */
export function sameOrDiffers(piece: PlannedPiece, found: string | undefined, wanted: string): InspectedPiece {
  if (found === undefined) return { ...piece, state: 'missing' }
  return found === wanted ? { ...piece, state: 'as planned' } : { ...piece, state: 'differs', found }
}

/** A rule in a chain that belongs to the route alone. */
export interface PlannedRule {
  readonly piece: PlannedPiece
  /** As it is read back. */
  readonly readsAs: string
}

/** All rules of a chain, in their order. Undefined: there is no such chain. */
export function compareRules(
  rules: readonly PlannedRule[],
  found: readonly string[] | undefined,
  strange: Pick<PlannedPiece, 'kind' | 'where'>,
): readonly InspectedPiece[] {
  const left = indexesByText(found ?? [])
  const places = rules.map(({ readsAs }) => left.get(readsAs)?.shift())
  const strangers = [...left.values()].flat().sort((a, b) => a - b)
  // Rules that only moved up because one is missing, or down because one is too much, are where they belong.
  let last = -1
  return [
    ...rules.map(({ piece }, index): InspectedPiece => {
      const place = places[index]
      if (place === undefined) return { ...piece, state: 'missing' }
      const isInOrder = place > last
      last = Math.max(last, place)
      return isInOrder
        ? { ...piece, state: 'as planned' }
        : { ...piece, state: 'differs', found: `the same, but as rule ${place + 1}` }
    }),
    ...strangers.map((place): InspectedPiece => ({ ...strange, text: found?.[place] ?? '', state: 'not planned' })),
  ]
}

function indexesByText(texts: readonly string[]): Map<string, number[]> {
  const indexes = new Map<string, number[]>()
  for (const [index, text] of texts.entries()) indexes.set(text, [...(indexes.get(text) ?? []), index])
  return indexes
}
