/** Every iptables of this host. A proxy writes to one of them, but an earlier one may have written to another. */
import { isSummaryEnough } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import { findIptables } from '../../dataplane/iptables/find-iptables.ts'
import type { Iptables, Variant } from '../../dataplane/iptables/iptables.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { noTables, SaveReader } from '../../dataplane/iptables/save-reader.ts'
import type { SavedTables } from '../../dataplane/iptables/save-reader.ts'
import { commandError } from '../../dataplane/iptables/tool-error.ts'
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'

export interface HostIptables {
  readonly family: Family
  readonly variant: Variant
  /** `iptables-nft`, `ip6tables-legacy`; `iptables` where that is its only name. Undefined when it cannot be used. */
  readonly tool: string | undefined
  readonly iptables: Iptables
}

export interface ToolContext {
  readonly exec: Exec
  readonly clock: Clock
  readonly log: Logger
}

/** Both variants of both families, there or not. */
export function findHostIptables(context: ToolContext, signal: AbortSignal): Promise<readonly HostIptables[]> {
  const all = families.flatMap((family) => (['nf_tables', 'legacy'] as const).map((variant) => ({ family, variant })))
  return Promise.all(all.map(({ family, variant }) => findOne(family, variant, context, signal)))
}

const suffixes = { nf_tables: '-nft', legacy: '-legacy' } as const

async function findOne(
  family: Family,
  variant: Variant,
  context: ToolContext,
  signal: AbortSignal,
): Promise<HostIptables> {
  const plainName = family === 'ipv4' ? 'iptables' : 'ip6tables'
  const named = await findIptables({ ...context, family, variant, signal })
  if ((await variantOf(named, signal)) === variant)
    return { family, variant, tool: `${plainName}${suffixes[variant]}`, iptables: named }
  // Where the suffixed name is missing, the plain one may stand for it.
  const plain = await findIptables({ ...context, family, signal })
  const isThisOne = (await variantOf(plain, signal)) === variant
  return { family, variant, tool: isThisOne ? plainName : undefined, iptables: plain }
}

async function variantOf(iptables: Iptables, signal: AbortSignal): Promise<Variant | undefined> {
  try {
    return (await iptables.features(signal)).variant
  } catch (error) {
    // On a kernel without nf_tables its iptables cannot even tell its version.
    const isUnusable = error instanceof IptablesError && ['tool-missing', 'unsupported'].includes(error.reason)
    if (isUnusable) return undefined
    throw error
  }
}

/**
 * All tables that there are. Naming a table, as `Iptables.save` does, would make the legacy variant load it into a kernel
 * that may never have used it.
 */
export async function readTables(exec: Exec, tool: string, signal: AbortSignal): Promise<SavedTables> {
  const program = `${tool}-save`
  const reader = new SaveReader({ isSummaryEnough })
  const onStdout = (piece: Buffer) => reader.add(piece)
  const done = await exec(program, [], { signal, env: { LC_ALL: 'C' }, maxStdoutBytes: 400 << 20, onStdout })
  if (done.exitCode === 0) return reader.end()
  const error = commandError(program, 'save the tables', done)
  // A kernel without this family or variant holds nothing of it.
  if (error.reason === 'unsupported') return noTables
  throw error
}
