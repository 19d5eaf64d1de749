/**
 * What the kernel holds of ours, as far as we know. That is what the plan says, except where the kernel did not take
 * something. Such deviations are few, so nothing else is kept beside the plan.
 */
import { VersionedMap } from '../../core/versioned-map.ts'
import type { Changes } from '../../core/versioned-map.ts'
import type { VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import { eachSet } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import { plannedServer } from './plan.ts'
import type { Counts, IpvsPlan } from './plan.ts'
import type { ServerId } from './planned-server.ts'
import type { WeighedEndpoint } from './scheduling.ts'

export interface HeldServer extends VirtualServer {
  /** Those that get new connections; the others are on the list of `Draining`. */
  readonly endpoints: readonly HeldEndpoint[]
}

/** Its weight is the one that we gave; as found in the kernel only when it is to be repaired. What others set is theirs. */
export type HeldEndpoint = WeighedEndpoint

export interface Held {
  server(id: ServerId): HeldServer | undefined
  serverIds(): Iterable<ServerId>
  entries(set: SetId): Texts
  /** On our link. */
  readonly addresses: Texts
  readonly outRules: Texts
}

export interface Texts {
  has(text: string): boolean
  keys(): Iterable<string>
}

/** A plan that was written, and where the kernel deviates from it. */
export interface Written {
  readonly plan: IpvsPlan
  readonly deviations: Deviations
}

export interface Deviations {
  readonly serversById: VersionedMap<ServerId, HeldServer | 'missing'>
  readonly entries: Readonly<Record<SetId, TextDeviations>>
  readonly addresses: TextDeviations
  readonly outRules: TextDeviations
}

/** What was refused when it was to come is missing; what was refused when it was to go is surplus. */
export type Deviation = 'missing' | 'surplus'

type TextDeviations = VersionedMap<string, Deviation>

/** Undefined: the kernel does not deviate there any more. */
export interface DeviationChanges {
  readonly serversById: Changes<ServerId, HeldServer | 'missing'>
  readonly entries: ReadonlyMap<SetId, Changes<string, Deviation>>
  readonly addresses: Changes<string, Deviation>
  readonly outRules: Changes<string, Deviation>
}

export function noDeviations(): Deviations {
  return {
    serversById: new VersionedMap(),
    entries: eachSet(() => new VersionedMap()),
    addresses: new VersionedMap(),
    outRules: new VersionedMap(),
  }
}

export function withDeviations(deviations: Deviations, changes: DeviationChanges): Deviations {
  const entries = { ...deviations.entries }
  for (const [set, ofSet] of changes.entries) entries[set] = entries[set].with(ofSet)
  return {
    serversById: deviations.serversById.with(changes.serversById),
    entries,
    addresses: deviations.addresses.with(changes.addresses),
    outRules: deviations.outRules.with(changes.outRules),
  }
}

export function heldOf({ plan, deviations }: Written): Held {
  const { serversById } = deviations
  return {
    server(id) {
      const deviation = serversById.get(id)
      if (deviation === undefined) return plannedServer(plan, id)
      return deviation === 'missing' ? undefined : deviation
    },
    *serverIds() {
      for (const id of plan.claimsById.keys()) if (serversById.get(id) !== 'missing') yield id
      for (const id of surplusServers({ plan, deviations })) yield id
    },
    entries: (set) => heldTexts(plan.entries[set], deviations.entries[set]),
    addresses: heldTexts(plan.entries.ipvsIps, deviations.addresses),
    outRules: heldTexts(plan.outRules, deviations.outRules),
  }
}

function heldTexts(planned: Counts, deviations: TextDeviations): Texts {
  return {
    has(text) {
      const deviation = deviations.get(text)
      return deviation === undefined ? planned.has(text) : deviation === 'surplus'
    },
    *keys() {
      for (const text of planned.keys()) if (!deviations.has(text)) yield text
      yield* surplusTexts(deviations)
    },
  }
}

export function surplusServers({ plan, deviations }: Written): readonly ServerId[] {
  return deviations.serversById
    .entries()
    .filter(([id, server]) => server !== 'missing' && !plan.claimsById.has(id))
    .map(([id]) => id)
}

export function surplusTexts(deviations: TextDeviations): readonly string[] {
  return deviations
    .entries()
    .filter(([, deviation]) => deviation === 'surplus')
    .map(([text]) => text)
}
