/** Finds out whose part of a program the data plane refuses, by trying halves. */
import type { SyncReport } from './backend.ts'
import type { RouteKey } from './route.ts'

/** After this many single culprits, small groups are left out whole: something general is missing, and time matters. */
const mostCulprits = 100
const largestGroup = 50

/** `tryRoutes` answers with the refusal, and leaves no trace of its trial. */
export async function findRefused(
  keys: readonly RouteKey[],
  tryRoutes: (keys: readonly RouteKey[]) => Promise<Error | undefined>,
): Promise<SyncReport['failed']> {
  const culprits: SyncReport['failed'][number][] = []
  const search = async (suspects: readonly RouteKey[]): Promise<void> => {
    if (suspects.length === 0) return
    const refusal = await tryRoutes(suspects)
    if (refusal === undefined) return
    if (suspects.length === 1 || (culprits.length >= mostCulprits && suspects.length <= largestGroup)) {
      for (const key of suspects) culprits.push({ key, reason: refusal.message })
      return
    }
    const middle = Math.ceil(suspects.length / 2)
    await search(suspects.slice(0, middle))
    await search(suspects.slice(middle))
  }
  await search(keys)
  return culprits
}
