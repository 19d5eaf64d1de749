/**
 * Chooses between the two iptables of a host. Its rules live in nf_tables or in the older x_tables, never in both, and
 * kubelet has chosen before us. The choice is that of iptables-wrappers, which kube-proxy's image uses.
 */
import type { Family } from '../../net/ip.ts'
import type { Exec } from '../exec/exec.ts'
import { ExecError } from '../exec/exec.ts'
import type { CommandIptablesOptions, ToolNames } from './command-iptables.ts'
import { CommandIptables } from './command-iptables.ts'
import type { Iptables, Variant } from './iptables.ts'
import { chainNames } from './save-text.ts'

export interface FindIptablesOptions extends Omit<CommandIptablesOptions, 'tools'> {
  readonly signal: AbortSignal
  /** Forces one; else the host decides. */
  readonly variant?: Variant
}

/** Never fails for want of tools: what it returns then says that the family is not supported. */
export async function findIptables(options: FindIptablesOptions): Promise<Iptables> {
  const { exec, family, signal } = options
  const variant = options.variant ?? (await variantInUse(exec, signal))
  return new CommandIptables({ ...options, tools: toolNames(family, variant) })
}

/** Undefined when the host has only one and does not tell which: then the plain names are right. */
async function variantInUse(exec: Exec, signal: AbortSignal): Promise<Variant | undefined> {
  const hasBoth = (await exists(exec, 'iptables-nft', signal)) && (await exists(exec, 'iptables-legacy', signal))
  if (!hasBoth) return undefined
  const hasHint = async (command: string, args: readonly string[]) =>
    hasKubeletHint(await savedText(exec, command, args, signal))
  for (const family of ['ipv4', 'ipv6'] as const)
    if (await hasHint(toolNames(family, 'nf_tables').save, ['-t', 'mangle'])) return 'nf_tables'
  // No -t: naming a legacy table would load it into a kernel that may not use it otherwise.
  for (const family of ['ipv4', 'ipv6'] as const)
    if (await hasHint(toolNames(family, 'legacy').save, [])) return 'legacy'
  return 'nf_tables'
}

function hasKubeletHint(saved: string): boolean {
  const names = new Set(chainNames(saved))
  return names.has('KUBE-IPTABLES-HINT') || names.has('KUBE-KUBELET-CANARY')
}

function toolNames(family: Family, variant: Variant | undefined): ToolNames {
  const suffixes = { nf_tables: '-nft', legacy: '-legacy' }
  const single = (family === 'ipv4' ? 'iptables' : 'ip6tables') + (variant === undefined ? '' : suffixes[variant])
  return { single, save: `${single}-save`, restore: `${single}-restore` }
}

async function exists(exec: Exec, program: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await exec(program, ['--version'], { signal })).exitCode === 0
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
}

/** What cannot be read holds no hint: a kernel without one variant must not stop us from using the other. */
async function savedText(exec: Exec, program: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  try {
    return (await exec(program, args, { signal, maxStdoutBytes: 400 << 20 })).stdout
  } catch (error) {
    if (error instanceof ExecError) return ''
    throw error
  }
}
