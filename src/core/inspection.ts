/** What a data plane holds for one route: what was planned and, where it may be read, what is there. */
export interface PlannedPiece {
  /** What it is, in the words of the mode: `rule`, `element`, `virtual server`, `listener`, … */
  readonly kind: string
  /** Where it is: a chain, a map, an interface, … */
  readonly where: string
  /** As the mode's own tool prints it. */
  readonly text: string
  /** The endpoint that it leads to, if it leads to one. */
  readonly endpoint?: string
  /** The only way in that it concerns. Without it, all of the route's. */
  readonly entrance?: PieceEntrance
}

/** Without an address, a node port; without a port, all ports of the address. */
export interface PieceEntrance {
  readonly ip?: string
  readonly port?: number
  /** Of a range of ports. */
  readonly lastPort?: number
}

export interface InspectedPiece extends PlannedPiece {
  /** `not planned`: somebody else put it among what belongs to the route alone. */
  readonly state: 'as planned' | 'missing' | 'differs' | 'not planned' | 'not read'
  /** What is there instead, if it differs. */
  readonly found?: string
}

export interface Inspection {
  readonly pieces: readonly InspectedPiece[]
  /** Why something could not be read. */
  readonly notRead?: string
}

/** Of two parts of a data plane. */
export function bothInspections(one: Inspection, other: Inspection): Inspection {
  const reasons = new Set([one.notRead, other.notRead].filter((reason) => reason !== undefined))
  return {
    pieces: [...one.pieces, ...other.pieces],
    ...(reasons.size > 0 && { notRead: [...reasons].join('; ') }),
  }
}

/** As far as it was read. */
export function isAsPlanned({ state }: InspectedPiece): boolean {
  return state === 'as planned' || state === 'not read'
}
