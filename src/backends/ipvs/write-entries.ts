/** The entries of the IP sets. */
import type { EntryChange } from '../../dataplane/ipset/ipset.ts'
import { setIds, setName } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import { Surprise } from './work.ts'
import type { Work } from './work.ts'

interface PlannedChange {
  readonly id: SetId
  readonly change: EntryChange
}

/**
 * What comes is added before anything goes: an entry that moves to another set must not be missing in between. Each way
 * the set that refuses strangers is the first to let go and the last to take.
 */
export async function writeEntries(work: Work, signal: AbortSignal): Promise<void> {
  const { kernel, written, failures, leftovers, counts, log } = work
  const planned = [
    ...setIds.flatMap((id) => additions(work, id)),
    ...[...setIds].reverse().flatMap((id) => removals(work, id)),
  ]
  if (planned.length === 0) return
  const errors = await kernel.ipset.apply(
    planned.map(({ change }) => change),
    signal,
  )
  counts.entries += planned.length
  for (const [index, { id, change }] of planned.entries()) {
    const { kind, entry, set } = change
    const error = errors.get(index)
    if (error === undefined) {
      if (kind === 'add') written.entries(id).add(entry)
      else written.entries(id).delete(entry)
    } else if (error.reason === 'not-found' && work.rules === undefined)
      throw new Surprise(error.message, { cause: error })
    else if (kind === 'add') failures.entryFailed(id, entry, error.message)
    else {
      log.warn('cannot delete an entry from its set', { set, entry, error })
      leftovers.addEntry(id, entry)
    }
  }
}

function additions({ plan, written, touched }: Work, id: SetId): PlannedChange[] {
  const changes: PlannedChange[] = []
  const set = setName(id, plan.settings.family)
  for (const entry of touched.entries(id))
    if (plan.entries(id).has(entry) && !written.entries(id).has(entry))
      changes.push({ id, change: { kind: 'add', set, entry } })
  return changes
}

function removals({ plan, written, touched }: Work, id: SetId): PlannedChange[] {
  const changes: PlannedChange[] = []
  const set = setName(id, plan.settings.family)
  for (const entry of touched.entries(id))
    if (!plan.entries(id).has(entry) && written.entries(id).has(entry))
      changes.push({ id, change: { kind: 'delete', set, entry } })
  return changes
}
