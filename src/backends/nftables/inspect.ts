/** Compares what the table holds for one route with what was planned. Reads the route's elements and chains, and no others. */
import { compareRules, inspectPieces, sameOrDiffers, thereOrMissing } from '../../core/inspect-pieces.ts'
import type { Look } from '../../core/inspect-pieces.ts'
import type { InspectedPiece, Inspection } from '../../core/inspection.ts'
import type { FoundElement, NftTable, SetDeclaration } from '../../dataplane/nft/nft.ts'
import { renderElement } from '../../dataplane/nft/command/script.ts'
import type { ChainPieces, ElementPiece, RoutePieces } from './pieces.ts'
import { toSetElement } from './element-changes.ts'

type Door = Pick<NftTable, 'elements' | 'rules' | 'list'>

export function inspectRoute(
  { elements, chains, ownSets }: RoutePieces,
  table: Door,
  signal: AbortSignal,
): Promise<Inspection> {
  return inspectPieces([elementsLook(elements, table), setsLook(ownSets, table), chainsLook(chains, table)], signal)
}

function elementsLook(elements: readonly ElementPiece[], table: Door): Look {
  return {
    pieces: elements.map(({ piece }) => piece),
    async compare(signal) {
      const found = new Map<SetDeclaration, ReadonlyMap<string, FoundElement>>()
      for (const set of new Set(elements.map((one) => one.set))) {
        const keys = elements.filter((one) => one.set === set).map(({ element }) => element.key)
        found.set(set, await table.elements(set, signal, keys))
      }
      return elements.map(({ element, set, piece }) => {
        const there = found.get(set)?.get(element.key)
        // Comments are not read back.
        const text = there && renderElement(toSetElement({ ...element, value: there.value }))
        return sameOrDiffers(piece, text, piece.text)
      })
    },
  }
}

function setsLook(sets: RoutePieces['ownSets'], table: Door): Look {
  return {
    pieces: sets.map(({ piece }) => piece),
    async compare(signal) {
      const names = new Set((await table.list(signal))?.sets)
      return sets.map(({ name, piece }) => thereOrMissing(piece, names.has(name)))
    },
  }
}

function chainsLook(chains: readonly ChainPieces[], table: Door): Look {
  return {
    pieces: chains.flatMap(({ piece, rules }) => [piece, ...rules.map((rule) => rule.piece)]),
    async compare(signal) {
      const names = chains.map(({ name }) => name)
      const found = await table.rules(names, signal)
      return chains.flatMap(({ name, piece, rules }): readonly InspectedPiece[] => [
        thereOrMissing(piece, found.has(name)),
        ...compareRules(rules, found.get(name), { kind: 'rule', where: `chain ${name}` }),
      ])
    },
  }
}
