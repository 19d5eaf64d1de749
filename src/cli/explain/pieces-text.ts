/** The rules, elements, servers or listeners that do what was explained. What differs comes first. */
import type { Explanation } from '../../core/explain/explanation.ts'
import { isAsPlanned } from '../../core/inspection.ts'
import type { InspectedPiece } from '../../core/inspection.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'

export function piecesText(explanation: Explanation, terminal: Terminal): string {
  const { inspection, pieces } = explanation
  const all: readonly InspectedPiece[] =
    inspection?.pieces ?? (pieces ?? []).map((piece) => ({ ...piece, state: 'not read' as const }))
  if (all.length === 0) return ''
  const note = inspection === undefined ? 'planned; nothing was read' : readNote(inspection.notRead, all)
  const wrongFirst = all.toSorted((left, right) => Number(isAsPlanned(left)) - Number(isAsPlanned(right)))
  return `\n${paint(terminal, 'bold', 'What does it')} (${note}):\n${placesText(wrongFirst, terminal)}${elsewhereText(explanation)}`
}

function elsewhereText({ wrongElsewhere, service }: Explanation): string {
  if (wrongElsewhere === undefined || service === undefined) return ''
  const count = wrongElsewhere === 1 ? '1 is' : `${wrongElsewhere} are`
  const page = `/debug/rules?service=${service.namespace}/${service.name}&actual=1`
  return `Of other ways in, ${count} not as planned: ${page} shows ${wrongElsewhere === 1 ? 'it' : 'them'}.\n`
}

/** How many are not as planned, as far as they were read. */
export function wrongPieces({ inspection }: Pick<Explanation, 'inspection'>): number {
  return (inspection?.pieces ?? []).filter((piece) => !isAsPlanned(piece)).length
}

function readNote(notRead: string | undefined, all: readonly InspectedPiece[]): string {
  if (notRead !== undefined) return `planned; it could not be read: ${notRead}`
  const wrong = all.filter((piece) => !isAsPlanned(piece)).length
  return wrong === 0 ? 'read, and all as planned' : `read, and ${wrong} of ${all.length} not as planned`
}

/** Each place once, with what is there. */
function placesText(pieces: readonly InspectedPiece[], terminal: Terminal): string {
  const byPlace = new Map<string, string[]>()
  for (const piece of pieces) {
    const texts = byPlace.get(piece.where) ?? []
    byPlace.set(piece.where, [...texts, pieceText(piece, terminal)])
  }
  return [...byPlace].map(([place, texts]) => `   ${place}\n${texts.join('')}`).join('')
}

function pieceText(piece: InspectedPiece, terminal: Terminal): string {
  const { text, state, found } = piece
  const mark = isAsPlanned(piece) ? '' : `${paint(terminal, 'red', `${state.toUpperCase()}:`)} `
  const instead = found === undefined ? '' : `\n       found: ${found}`
  return `     ${mark}${text}${instead}\n`
}
