/** Of what a data plane has for a Service port, that which concerns the way in that was asked for. */
import type { Explanation, FoundEntrance } from '../../core/explain/explanation.ts'
import { isAsPlanned } from '../../core/inspection.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'

export function withPieces(explanation: Explanation, pieces: readonly PlannedPiece[]): Explanation {
  return { ...explanation, pieces: pieces.filter((piece) => concerns(piece, explanation.entrance)) }
}

export function withInspection(explanation: Explanation, inspection: Inspection): Explanation {
  const isHere = (piece: PlannedPiece) => concerns(piece, explanation.entrance)
  const wrongElsewhere = inspection.pieces.filter((piece) => !isHere(piece) && !isAsPlanned(piece)).length
  return {
    ...explanation,
    inspection: { ...inspection, pieces: inspection.pieces.filter(isHere) },
    ...(wrongElsewhere > 0 && { wrongElsewhere }),
  }
}

function concerns({ entrance }: PlannedPiece, asked: FoundEntrance | undefined): boolean {
  if (entrance === undefined || asked === undefined) return true
  const ip = asked.kind === 'node-port' ? undefined : asked.ip
  if (entrance.ip !== ip || entrance.port === undefined) return entrance.ip === ip
  return entrance.port === asked.port && entrance.lastPort === asked.lastPort
}
