/**
 * Chooses between the two variants of iptables on a host. All rules should be in one of them, nf_tables or the older
 * x_tables, and the kubelet has chosen before us. The choice is made as in iptables-wrappers, which kube-proxy's image uses.
 */
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'
import type { Exec } from '../exec/exec.ts'
import { ExecError } from '../exec/exec.ts'
import type { CommandIptablesOptions, ToolNames } from './command-iptables.ts'
import { CommandIptables } from './command-iptables.ts'
import { lackedCapabilities } from '../capabilities.ts'
import { IptablesError } from './iptables.ts'
import type { Iptables, Variant } from './iptables.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import { SaveReader } from './save-reader.ts'

export interface FindIptablesOptions extends Omit<CommandIptablesOptions, 'tools'> {
  readonly signal: AbortSignal
  /** By default, the one that the host uses. */
  readonly variant?: Variant
}

/** If the tools are missing it does not reject; `isSupported` of the result is false then. */
export async function findIptables(options: FindIptablesOptions): Promise<Iptables> {
  const { exec, family, signal } = options
  const variant = options.variant ?? (await variantInUse(exec, signal))
  return new CommandIptables({ ...options, tools: toolNames(family, variant) })
}

/** Always returns the same object for the same family. */
export type IptablesOf = (family: Family, signal: AbortSignal) => Promise<Iptables>

/** Finds out only once which variant the host uses: that does not change while it runs. */
export function iptablesOfHost(options: Pick<CommandIptablesOptions, 'exec' | 'clock' | 'log'>): IptablesOf {
  const foundByFamily = new Map<Family, Iptables>()
  const turns = new OneAtATime()
  let variant: Variant | undefined
  let isVariantKnown = false
  return (family, signal) =>
    turns.run(async () => {
      const known = foundByFamily.get(family)
      if (known !== undefined) return known
      if (!isVariantKnown) variant = await variantInUse(options.exec, signal)
      isVariantKnown = true
      const found = new CommandIptables({ ...options, family, tools: toolNames(family, variant) })
      foundByFamily.set(family, found)
      return found
    })
}

/** Returns nothing if the host does not have both variants; then the plain names of the tools are right. */
async function variantInUse(exec: Exec, signal: AbortSignal): Promise<Variant | undefined> {
  const doAll = ['iptables-nft', 'iptables-legacy'].map((program) => succeeds(exec, program, ['--version'], signal))
  if (!(await Promise.all(doAll)).every(Boolean)) return undefined
  const hasHints = families.flatMap((family) =>
    // iptables-nft-save would read all tables, not just this one.
    hints.map((chain) => succeeds(exec, toolNames(family, 'nf_tables').single, ['-t', 'mangle', '-S', chain], signal)),
  )
  if ((await Promise.all(hasHints)).some(Boolean)) return 'nf_tables'
  for (const family of families) if (await savesHint(exec, toolNames(family, 'legacy').save, signal)) return 'legacy'
  return 'nf_tables'
}

/** Chains that the kubelet makes in the variant that it uses. */
const hints = ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY'] as const

function toolNames(family: Family, variant: Variant | undefined): ToolNames {
  const suffixes = { nf_tables: '-nft', legacy: '-legacy' }
  const single = (family === 'ipv4' ? 'iptables' : 'ip6tables') + (variant === undefined ? '' : suffixes[variant])
  return { single, save: `${single}-save`, restore: `${single}-restore` }
}

async function succeeds(exec: Exec, program: string, args: readonly string[], signal: AbortSignal): Promise<boolean> {
  try {
    return (await exec(program, args, { signal })).exitCode === 0
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
}

/**
 * A failure counts as "no": a kernel without one variant must not keep us from using the other. But if only the permission
 * is missing, this may well be the variant that the host uses.
 */
async function savesHint(exec: Exec, program: string, signal: AbortSignal): Promise<boolean> {
  const reader = new SaveReader({ isSummaryEnough: () => true })
  const onStdout = (piece: Buffer) => reader.add(piece)
  try {
    // Without -t: naming a legacy table would load it into a kernel that may not use it otherwise.
    const { stderr } = await exec(program, [], { signal, maxStdoutBytes: 400 << 20, onStdout })
    if (/you must be root|Permission denied|Operation not permitted/.test(stderr)) throw mayNotLook(program)
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
  return [...reader.end().summaries.values()].some((chains) => hints.some((chain) => chains.has(chain)))
}

function mayNotLook(program: string): IptablesError {
  const needed = ['CAP_NET_ADMIN', 'CAP_NET_RAW'] as const
  const lacked = lackedCapabilities(needed)
  return new IptablesError(
    'not-permitted',
    `${program} may not read the tables that are there, so there is no telling which iptables this host uses: ` +
      `run as root, or give the container ${(lacked.length > 0 ? lacked : needed).join(' and ')}`,
  )
}
