/** The rules that the kernel holds, and which of our jumps are missing there. */
import { canonicalRule } from '../canonical-rule.ts'
import type { Iptables } from '../iptables.ts'
import { parseSaveInTurns } from '../save-text.ts'
import type { RulesByChain } from '../save-text.ts'
import type { Family } from '../../../net/ip.ts'
import { renderRule } from './render-rule.ts'
import type { Jump } from './kube-chains.ts'

export interface KernelState {
  readonly filter: RulesByChain
  readonly nat: RulesByChain
  /** Only the userspace mode has something there. */
  readonly mangle?: RulesByChain
}

export async function readKernelState(iptables: Iptables, signal: AbortSignal): Promise<KernelState> {
  const tables = await parseSaveInTurns(await iptables.saveAll(signal))
  const of = (table: string) => tables.get(table) ?? new Map()
  return { filter: of('filter'), nat: of('nat'), mangle: of('mangle') }
}

/** In the order to insert them. One that is there stays where it is: an operator may have put a rule above it. */
export function missingJumps(state: KernelState, family: Family, wantedJumps: readonly Jump[]): readonly Jump[] {
  return wantedJumps.filter(({ table, from, rule }) => {
    const wanted = canonicalRule(renderRule(rule), family)
    return state[table].get(from)?.includes(wanted) !== true
  })
}
