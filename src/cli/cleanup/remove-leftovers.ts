/** Removes what it is given, in its order, and goes on after a failure: the rest must not wait for it. */
import type { Leftover, Removal } from '../../core/leftover.ts'

/** What went together, or why it did not. */
export type Outcome = { readonly removed: readonly Leftover[] } | { readonly problem: string }

/** Without those that the mode uses, if one is given. */
export async function* removeLeftovers(
  removals: readonly Removal[],
  signal: AbortSignal,
  mode?: string,
): AsyncGenerator<Outcome> {
  for (const removal of removals) {
    const going = removal.leftovers.filter(({ modes }) => mode === undefined || !modes.includes(mode))
    if (going.length > 0) yield await outcomeOf(removal, going, signal)
  }
}

async function outcomeOf(removal: Removal, going: readonly Leftover[], signal: AbortSignal): Promise<Outcome> {
  try {
    await removal.remove(going, signal)
    return { removed: going }
  } catch (error) {
    signal.throwIfAborted()
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

/** One line for people: where it is, what it is, and how we know that it is a proxy's. */
export function renderLeftover({ what, reason }: Leftover): string {
  return `${what} (${reason})`
}
