/**
 * Finds out whose rules the kernel refuses. Suspects are put into a chain that no packet ever enters, half of them at
 * a time, until single routes are left; nothing that carries traffic is touched.
 */
import type { SyncReport } from '../../../core/backend.ts'
import type { RouteKey } from '../../../core/route.ts'
import { findRefused } from '../../../core/sync/find-refused.ts'
import { IptablesError } from '../iptables.ts'
import type { Iptables } from '../iptables.ts'
import type { Table } from './kube-chains.ts'
import { renderRule } from './render-rule.ts'
import type { RouteRules } from './rendered-rules.ts'
import { RestoreInput } from './restore-input.ts'
import type { Rule } from './rule.ts'

export interface RuleOnTrial {
  readonly table: Table
  /** As text, without `-A CHAIN`. It jumps to no chain of ours: those are not there in a trial. */
  readonly rule: string
}

interface Suspects {
  readonly keys: readonly RouteKey[]
  readonly rulesOf: (key: RouteKey) => readonly RuleOnTrial[]
}

const trialChain = 'KUBE-PROXY-TRIAL'
const tables = ['filter', 'nat'] as const

export async function findRefusedRoutes(
  iptables: Iptables,
  { keys, rulesOf }: Suspects,
  signal: AbortSignal,
): Promise<SyncReport['failed']> {
  try {
    return await findRefused(keys, (tried) => tryRules(iptables, tried.flatMap(rulesOf), signal))
  } finally {
    await removeTrial(iptables, signal)
  }
}

/** What matters in a trial is everything in a rule but its jump. */
export function rulesOnTrial({ shared, chains }: RouteRules): readonly RuleOnTrial[] {
  return [
    ...shared.map(({ table, rule }): RuleOnTrial => ({ table, rule: renderRule(withoutJump(rule)) })),
    ...chains.flatMap(({ rules }) =>
      rules.map((rule): RuleOnTrial => ({ table: 'nat', rule: renderRule(withoutJump(rule)) })),
    ),
  ]
}

/** The tool works and did not take the rules; anything else says nothing about them. */
export function isRefusal(error: unknown): error is IptablesError {
  return error instanceof IptablesError && error.reason === 'refused'
}

function withoutJump(rule: Rule): Rule {
  return rule.target?.kind === 'jump' ? { ...rule, target: undefined } : rule
}

async function tryRules(
  iptables: Iptables,
  rules: readonly RuleOnTrial[],
  signal: AbortSignal,
): Promise<IptablesError | undefined> {
  const input = new RestoreInput()
  for (const table of tables) input.declare(table, trialChain)
  for (const { table, rule } of rules) input.append(table, trialChain, rule)
  try {
    await iptables.restore(input.pieces(), signal)
    return undefined
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
}

async function removeTrial(iptables: Iptables, signal: AbortSignal): Promise<void> {
  const input = new RestoreInput()
  for (const table of tables) input.deleteChain(table, trialChain)
  await iptables.restore(input.pieces(), signal)
}
