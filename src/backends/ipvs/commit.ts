/**
 * Sends an edit to the kernel. What is needed comes first and what is superfluous goes last, so that no Service is out of
 * reach in between: virtual servers with their endpoints, the addresses that lead to them, the sets, the rules that ask
 * the sets; then the end of what nobody wants. When a step fails as a whole, those after it do not run.
 */
import { AddressError } from '../../dataplane/addresses/addresses.ts'
import { isRefusal } from '../../dataplane/iptables/language/refused-routes.ts'
import type { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import { deleteServers, writeServers } from './commit-servers.ts'
import { ChangedByOthers, Committed } from './committed.ts'
import type { CommitContext } from './committed.ts'
import type { IpvsEdit } from './edit.ts'
import { setName } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import { rulesInput } from './rules-edit.ts'

export async function commit(edit: IpvsEdit, context: CommitContext, signal: AbortSignal): Promise<Committed> {
  const done = new Committed()
  await writeServers(edit, context, done, signal)
  await bindAddresses(edit, context, done, signal)
  await writeEntries(edit, context, done, signal)
  await writeRules(edit, context, done, signal)
  // The address goes last: by it a clean-up knows whose virtual server it is, should we be killed in between.
  await deleteServers(edit, context, done, signal)
  await unbindAddresses(edit, context, done, signal)
  // Endpoints that have just lost their weight are deleted now, unless they have connections.
  await context.draining.sweep(signal, edit.serverIds)
  return done
}

type Step = (edit: IpvsEdit, context: CommitContext, done: Committed, signal: AbortSignal) => Promise<void>

const bindAddresses: Step = async (edit, { kernel }, { counts, failures, deviations }, signal) => {
  const { added } = edit.addresses
  if (added.length === 0) return
  const errors = await onLink(edit, kernel.addresses.add(ipvsLink, added, signal))
  counts.addresses += added.length
  for (const [ip, { message }] of errors) {
    failures.addresses.set(ip, message)
    deviations.addresses.set(ip, 'missing')
  }
}

const unbindAddresses: Step = async (edit, { kernel, log }, { counts, deviations }, signal) => {
  const { removed } = edit.addresses
  if (removed.length === 0) return
  const errors = await onLink(edit, kernel.addresses.remove(ipvsLink, removed, signal))
  counts.addresses += removed.length
  for (const [ip, error] of errors) {
    log.warn('cannot remove an address from the link', { link: ipvsLink, ip, error })
    deviations.addresses.set(ip, 'surplus')
  }
}

async function onLink<T>({ isFromReading }: IpvsEdit, change: Promise<T>): Promise<T> {
  try {
    return await change
  } catch (error) {
    const isGone = error instanceof AddressError && error.reason === 'no-such-link'
    if (isGone && !isFromReading) throw new ChangedByOthers(error.message, { cause: error })
    throw error
  }
}

const writeEntries: Step = async (edit, { kernel, log }, { counts, failures, deviations }, signal) => {
  const { entries, isFromReading, after } = edit
  if (entries.length === 0) return
  const { family } = after.plan.settings
  const changes = entries.map(({ kind, set, entry }) => ({ kind, set: setName(set, family), entry }))
  const errors = await kernel.ipset.apply(changes, signal)
  counts.entries += entries.length
  for (const [index, { kind, set, entry }] of entries.entries()) {
    const error = errors.get(index)
    if (error === undefined) continue
    if (error.reason === 'not-found' && !isFromReading) throw new ChangedByOthers(error.message, { cause: error })
    setIn(deviations.entries, set, entry, kind === 'add' ? 'missing' : 'surplus')
    if (kind === 'add') setIn(failures.entries, set, entry, error.message)
    else log.warn('cannot delete an entry from its set', { set: setName(set, family), entry, error })
  }
}

function setIn<T>(maps: Map<SetId, Map<string, T>>, set: SetId, entry: string, value: T): void {
  const ofSet = maps.get(set)
  if (ofSet === undefined) maps.set(set, new Map([[entry, value]]))
  else ofSet.set(entry, value)
}

const writeRules: Step = async ({ rules, isFromReading }, context, done, signal) => {
  const input = rulesInput(rules)
  if (input.isEmpty) return
  const { added } = rules.out
  try {
    await restore(input, context, done, signal)
  } catch (error) {
    if (!isRefusal(error)) throw error
    // Somebody removed what we wanted to change, or a new rule is not taken. What the kernel holds decides.
    if (!isFromReading) throw new ChangedByOthers(error.message, { cause: error })
    if (added.length === 0) throw error
    // These few rules need a match that many kernels lack (xt_ipvs). All other Services must not wait for it.
    await restore(rulesInput({ ...rules, out: { ...rules.out, added: [] } }), context, done, signal)
    for (const rule of added) {
      done.failures.outRules.set(rule, error.message)
      done.deviations.outRules.set(rule, 'missing')
    }
  }
}

async function restore(
  input: RestoreInput,
  { kernel, metrics }: CommitContext,
  { counts }: Committed,
  signal: AbortSignal,
): Promise<void> {
  try {
    await kernel.iptables.restore(input.render(), signal)
  } catch (error) {
    if (!signal.aborted) metrics.restoreFailed()
    throw error
  }
  counts.rules += input.addedRules('nat') + input.addedRules('filter')
}
