/** What a proxy left on a node, and how it goes. */

export interface Leftover {
  /** Where it is, and what: `nft: table ip fairlead`. */
  readonly what: string
  /** How we know that it is a proxy's. */
  readonly reason: string
  /** The modes of Fairlead that use it: it is no leftover while one of them runs. */
  readonly modes: readonly string[]
  /** Open connections need it that a process of the mode still carries after it has handed over. */
  readonly carriesOpen?: boolean | undefined
}

/** One step of a clean-up. */
export interface Removal<L extends Leftover = Leftover> {
  readonly leftovers: readonly L[]
  /** Removes these of the leftovers, all at once, or rejects. */
  remove(leftovers: readonly L[], signal: AbortSignal): Promise<void>
}

export interface Findings {
  /** In the order in which they can go. */
  readonly removals: readonly Removal[]
  /** Sentences about what cannot be removed, or not be looked at. */
  readonly problems: readonly string[]
  /** Sentences about what belongs to somebody else, and stays. */
  readonly notes?: readonly string[] | undefined
}

export const nothingFound: Findings = { removals: [], problems: [] }

/** For what goes in a step of its own. */
export function removalOf(leftover: Leftover, remove: (signal: AbortSignal) => Promise<void>): Removal {
  return { leftovers: [leftover], remove: (_, signal) => remove(signal) }
}
