/** Finds out whose part of a program the data plane refuses, by trying halves. */
import type { SyncReport } from '../backend.ts'
import type { RouteKey } from '../route.ts'

/** After this many single culprits, small groups are left out whole: something general is missing, and time matters. */
const mostCulprits = 100
const largestGroup = 50

type Failures = SyncReport['failed']
/** Answers with the refusal, and leaves no trace of its trial. */
type TryRoutes = (keys: readonly RouteKey[]) => Promise<Error | undefined>

/** Empty when all of them together are not refused. */
export async function findRefused(keys: readonly RouteKey[], tryRoutes: TryRoutes): Promise<Failures> {
  if ((await tryRoutes(keys)) === undefined) return []
  const alone = await search(keys, tryRoutes)
  if (alone.length > 0) return alone
  // Each is fine alone, so some are refused only together with others: they are tried on top of those that passed.
  const passed: RouteKey[] = []
  return search(keys, async (suspects) => {
    const refusal = await tryRoutes([...passed, ...suspects])
    if (refusal === undefined) passed.push(...suspects)
    return refusal
  })
}

async function search(keys: readonly RouteKey[], tryRoutes: TryRoutes): Promise<Failures> {
  const culprits: Failures[number][] = []
  const searchIn = async (suspects: readonly RouteKey[]): Promise<void> => {
    if (suspects.length === 0) return
    const refusal = await tryRoutes(suspects)
    if (refusal === undefined) return
    if (suspects.length === 1 || (culprits.length >= mostCulprits && suspects.length <= largestGroup)) {
      for (const key of suspects) culprits.push({ key, reason: refusal.message })
      return
    }
    const middle = Math.ceil(suspects.length / 2)
    await searchIn(suspects.slice(0, middle))
    await searchIn(suspects.slice(middle))
  }
  await searchIn(keys)
  return culprits
}

interface Sparing<T> {
  /** Writes everything but what is known to be refused. */
  readonly write: (refused: Failures) => Promise<T>
  readonly isRefusal: (error: unknown) => boolean
  readonly findRefused: (error: unknown) => Promise<Failures>
  /** Nobody's part alone is refused. */
  readonly withoutCulprit: (error: unknown) => Promise<T>
}

/** One bad rule refuses everything that is written with it. Everybody else must not wait for it. */
export async function writeAllButRefused<T>(sparing: Sparing<T>): Promise<T> {
  try {
    return await sparing.write([])
  } catch (error) {
    if (!sparing.isRefusal(error)) throw error
    const refused = await sparing.findRefused(error)
    return refused.length > 0 ? sparing.write(refused) : sparing.withoutCulprit(error)
  }
}
