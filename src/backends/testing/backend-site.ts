/** What `backend.contract.ts` must know of a mode: its data plane in memory, and how to read it. */
import type fc from 'fast-check'
import type { Backend } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import type { PlannedPiece } from '../../core/inspection.ts'
import type { Route } from '../../core/route.ts'
import type { AddressPlan } from '../../core/testing/random-cluster.ts'
import type { Client, EndpointsUnder, Reach } from './clients.ts'
import type { DoorCall, DoorCalls } from './door-calls.ts'

/** `Damage` is what others may do, `Settings` what may change while a process runs. */
export interface BackendSite<Damage, Settings> {
  readonly name: string
  readonly plan: AddressPlan
  /** With these every client of `clientsOf` is served. */
  readonly settings: Settings
  readonly otherSettings?: fc.Arbitrary<Settings>
  /** Absent: nobody else can touch the data plane. */
  readonly damage?: fc.Arbitrary<Damage>
  /** Whoever watches is told that something was done, and not whether it matters. */
  readonly noticesHarmlessChanges?: boolean
  /** Where the mode departs from the usual rule. */
  readonly endpointsUnder?: EndpointsUnder
  /** Routes that the mode reports as failed, always. */
  readonly cannotServe?: (route: Route) => boolean
  /** Routes that leave no trace in the data plane: all others do, also those without endpoints. */
  readonly holdsNothingFor?: (route: Route) => boolean
  /** Methods of the doors that change something. */
  readonly writes: ReadonlySet<string>
  /** Commands of a trace whose operations are calls of their own here. */
  readonly splitCommits?: ReadonlySet<string>
  /** The sync goes on when this call fails, and what it should have done is done later. */
  readonly toleratesFailureOf?: (call: DoorCall) => boolean
  /** Source ranges mean nothing to it. */
  readonly ignoresSources?: boolean
  /** There may be a gap when an address passes to another route, becomes something else, or gets another policy. */
  readonly hasGapsInHandover?: boolean
  /** There may be a gap whenever something changes at an address: also its endpoints, or its affinity. */
  readonly hasGapsInChange?: boolean
  /** What a restarted process may do to a data plane that is as it shall be. */
  readonly restart:
    | { readonly writes: (call: DoorCall) => readonly string[] }
    /** Nothing outlives the process, and this is why. */
    | { readonly skippedBecause: string }
  newWorld(): World<Damage, Settings>
}

/** A data plane, which outlives the processes that program it. */
export interface World<Damage, Settings> {
  readonly calls: DoorCalls
  /** A new process. */
  open(options: { readonly settings: () => Settings; readonly clock: Clock }): Backend
  /**
   * Everything that a packet can meet, as lines in an order that does not depend on history. After damage, what a repair
   * may leave in another order is sorted.
   */
  snapshot(options: { readonly wasDamaged: boolean }): Promise<readonly string[]>
  /** Where clients end up now. */
  look(): Promise<(client: Client) => Reach>
  damage(damage: Damage): Promise<void>
  /** What is there and is neither one of these pieces nor there whatever the Services are. */
  unexplained(pieces: readonly PlannedPiece[]): Promise<readonly string[]>
  /** Somebody takes the piece away, or changes it. False: this piece nobody can touch. */
  spoil(piece: PlannedPiece): Promise<boolean>
  /** From now on one of the doors refuses what names this address; undefined: nothing is refused. */
  refuse(ip: string | undefined, which: number): void
}
