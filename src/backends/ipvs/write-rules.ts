/** The iptables rules. They speak of sets, so they change only when a set gets its first entry or loses its last. */
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { KernelState as RulesState } from '../../dataplane/iptables/language/kernel-state.ts'
import { fixedChains, fullRules } from './rules-input.ts'
import { ipvsChains } from './top-chains.ts'
import { Surprise } from './work.ts'
import type { Work } from './work.ts'

export function writeRules(work: Work, signal: AbortSignal): Promise<void> {
  return work.rules === undefined ? editRules(work, signal) : rewriteRules(work, work.rules, signal)
}

async function editRules(work: Work, signal: AbortSignal): Promise<void> {
  const { plan, written, touched } = work
  const chains = fixedChains(plan)
  const input = new RestoreInput()
  for (const [index, { table, chain }] of chains.entries())
    if (written.chains[index]?.chain.lines !== chain.lines) input.fill(table, chain)
  const added = [...touched.outRules].filter((rule) => plan.outRules.has(rule) && !written.outRules.has(rule))
  const removed = [...touched.outRules].filter((rule) => !plan.outRules.has(rule) && written.outRules.has(rule))
  for (const rule of removed) input.delete('filter', ipvsChains.out, rule)
  for (const rule of added) input.append('filter', ipvsChains.out, rule)
  if (input.isEmpty) return
  try {
    await restore(work, input, signal)
  } catch (error) {
    // Somebody removed what we wanted to change, or a new rule is not taken. What the kernel holds decides.
    if (isRefusal(error)) throw new Surprise(error.message, { cause: error })
    throw error
  }
  written.chains = chains
  for (const rule of added) written.outRules.add(rule)
  for (const rule of removed) written.outRules.delete(rule)
}

async function rewriteRules(work: Work, state: RulesState, signal: AbortSignal): Promise<void> {
  const { plan, written, failures } = work
  try {
    await restore(work, fullRules(plan, state, plan.outRules), signal)
    for (const rule of plan.outRules) written.outRules.add(rule)
  } catch (error) {
    if (!isRefusal(error) || plan.outRules.size === 0) throw error
    // These few rules need a match that many kernels lack (xt_ipvs). All other Services must not wait for it.
    await restore(work, fullRules(plan, state, []), signal)
    for (const rule of plan.outRules) failures.outRules.set(rule, error.message)
  }
  written.chains = fixedChains(plan)
}

async function restore({ kernel, counts, metrics }: Work, input: RestoreInput, signal: AbortSignal): Promise<void> {
  try {
    await kernel.iptables.restore(input.render(), signal)
  } catch (error) {
    if (!signal.aborted) metrics.restoreFailed()
    throw error
  }
  counts.rules += input.addedRules('nat') + input.addedRules('filter')
}

function isRefusal(error: unknown): error is IptablesError {
  return error instanceof IptablesError && error.reason === 'refused'
}
