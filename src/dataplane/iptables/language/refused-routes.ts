/**
 * Finds out whose rules the kernel refuses. Suspects are put into a chain that no packet ever enters, half of them at
 * a time, until single routes are left; nothing that carries traffic is touched.
 */
import type { SyncReport } from '../../../core/backend.ts'
import { findRefused } from '../../../core/sync/find-refused.ts'
import type { RouteKey } from '../../../core/route.ts'
import type { Iptables } from '../iptables.ts'
import { IptablesError } from '../iptables.ts'
import { rulesOf } from './rendered-chain.ts'
import { RestoreInput } from './restore-input.ts'
import type { Table } from './kube-chains.ts'
import type { RenderedRoute } from './rendered-rules.ts'

const trialChain = 'KUBE-PROXY-TRIAL'
const tables = ['filter', 'nat'] as const
type Routes = ReadonlyMap<RouteKey, { readonly rendered: RenderedRoute }>

export async function findRefusedRoutes(
  iptables: Iptables,
  routesByKey: Routes,
  signal: AbortSignal,
): Promise<SyncReport['failed']> {
  try {
    return await findRefused([...routesByKey.keys()], (suspects) => tryRoutes(iptables, routesByKey, suspects, signal))
  } finally {
    await removeTrial(iptables, signal)
  }
}

async function tryRoutes(
  iptables: Iptables,
  routesByKey: Routes,
  keys: readonly RouteKey[],
  signal: AbortSignal,
): Promise<IptablesError | undefined> {
  const input = new RestoreInput()
  for (const table of tables) input.declare(table, trialChain)
  const add = (table: Table, rule: string) => input.append(table, trialChain, withoutJump(rule))
  for (const key of keys) {
    const route = routesByKey.get(key)?.rendered
    for (const { table, rule } of route?.shared ?? []) add(table, rule)
    for (const chain of route?.chains ?? []) for (const rule of rulesOf(chain)) add('nat', rule)
  }
  try {
    await iptables.restore(input.render(), signal)
    return undefined
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
}

/** The tool works and did not take the rules; anything else says nothing about them. */
export function isRefusal(error: unknown): error is IptablesError {
  return error instanceof IptablesError && error.reason === 'refused'
}

/** The chains that a route jumps to are not there in a trial; what matters is everything else in the rule. */
function withoutJump(rule: string): string {
  return rule.replace(/ ?-j KUBE-\S+$/, '')
}

async function removeTrial(iptables: Iptables, signal: AbortSignal): Promise<void> {
  const input = new RestoreInput()
  for (const table of tables) input.deleteChain(table, trialChain)
  await iptables.restore(input.render(), signal)
}
