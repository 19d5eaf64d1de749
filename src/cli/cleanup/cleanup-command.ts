/** `fairlead --cleanup`: gives the node back as if no proxy had ever run on it. */
import type { Leftover } from '../../core/leftover.ts'
import { lackedCapabilities } from '../../dataplane/capabilities.ts'
import { AddressError } from '../../dataplane/addresses/addresses.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import { HcnError } from '../../dataplane/hcn/hcn.ts'
import { IpsetError } from '../../dataplane/ipset/ipset.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { IpvsError } from '../../dataplane/ipvs/ipvs.ts'
import { NetlinkError } from '../../dataplane/netlink/netlink-error.ts'
import { NetshError } from '../../dataplane/netsh/netsh.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import { wayOutOf } from '../modes/kernelspace/check-hns.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { paint } from '../terminal.ts'
import { leftoversOnNode } from './leftovers-on-node.ts'
import type { CleanupPlace, OpenFindings } from './leftovers-on-node.ts'
import { removeLeftovers, renderLeftover } from './remove-leftovers.ts'

export interface CleanupOptions {
  readonly isDryRun: boolean
  readonly isOwnTablesOnly: boolean
  readonly stateDir: string
  readonly pins: string
  readonly program: Pick<Program, 'host' | 'out' | 'err' | 'stderr' | 'progress'>
}

/** Returns the exit code: 1 when something of a proxy stays, or may have. */
export async function cleanupCommand(
  { isDryRun, isOwnTablesOnly, stateDir, pins, program }: CleanupOptions,
  signal: AbortSignal,
): Promise<number> {
  using progress = program.progress('looking for what proxies left')
  await using found = await look({ host: program.host, stateDir, pins, isOwnTablesOnly }, signal)
  const { removals, problems, notes = [] } = found
  progress.step('removing what proxies left')
  const report = (verb: string, gone: readonly Leftover[]) =>
    program.out(gone.map((leftover) => `${verb} ${renderLeftover(leftover)}\n`).join(''))
  const failures: string[] = [...problems]
  if (isDryRun) for (const { leftovers } of removals) report('would remove', leftovers)
  // Told step by step, so that somebody who interrupts it knows what is gone.
  else
    for await (const outcome of removeLeftovers(removals, signal))
      if ('removed' in outcome) report('removed', outcome.removed)
      else failures.push(outcome.problem)

  for (const note of notes) program.out(`left alone: ${note}\n`)
  if (removals.length === 0 && failures.length === 0) program.out('Nothing to remove.\n')
  for (const failure of failures) program.err(`${paint(program.stderr, 'red', 'Error:')} ${failure}\n`)
  return failures.length === 0 ? 0 : 1
}

async function look(place: CleanupPlace, signal: AbortSignal): Promise<OpenFindings> {
  try {
    return await leftoversOnNode(place, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isToolFailure(error)) throw error
    if (error instanceof HcnError)
      throw new CommandError(`--cleanup removed nothing: ${error.message}; ${wayOutOf(error)}`, { cause: error })
    if (error.reason === 'not-permitted' && !(error instanceof NetshError))
      throw new CommandError(`--cleanup changes kernel rules: run it as root${lack()}`, { cause: error })
    throw new CommandError(`--cleanup removed nothing, because it could not check everything: ${error.message}`, {
      cause: error,
    })
  }
}

/** Root in a container may lack what root of the machine has. */
function lack(): string {
  const lacked = lackedCapabilities(['CAP_NET_ADMIN', 'CAP_NET_RAW'])
  return lacked.length === 0 ? '' : `, with ${lacked.join(' and ')}, which this process lacks`
}

const failuresOfTools = [
  BpfError,
  HcnError,
  NetshError,
  IptablesError,
  NfacctError,
  NetlinkError,
  NftError,
  AddressError,
  IpsetError,
  IpvsError,
] as const

function isToolFailure(error: unknown): error is InstanceType<(typeof failuresOfTools)[number]> {
  return failuresOfTools.some((kind) => error instanceof kind)
}
