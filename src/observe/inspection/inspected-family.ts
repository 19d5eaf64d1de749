import type { Comparison, NodeView, RenderedPart } from '../../core/backend.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import type { RouteKey } from '../../core/route.ts'
import type { Family } from '../../net/ip.ts'

/** One IP family of the data plane, for those who want to look into it. See `Backend` for what each answers. */
export interface InspectedFamily {
  readonly family: Family
  view(): NodeView
  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined>
  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined>
  rendered(): Promise<readonly RenderedPart[] | undefined>
  /** Undefined: nobody else can touch the data plane of this mode. */
  compare(signal: AbortSignal): Promise<Comparison | undefined>
}
