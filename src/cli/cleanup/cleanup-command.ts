/** `fairlead --cleanup`: gives the node back as if no proxy had ever run on it. */
import { lackedCapabilities } from '../../dataplane/capabilities.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { NetlinkError } from '../../dataplane/netlink/netlink-error.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { paint } from '../terminal.ts'
import { thisHost } from './cleanup-host.ts'
import type { CleanupHost } from './cleanup-host.ts'
import { findLeftovers } from './find-leftovers.ts'
import type { Findings, Leftover } from './leftover.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { renderLeftover } from './render-leftover.ts'
import { ToolError } from './run-tool.ts'

export interface CleanupOptions {
  readonly isDryRun: boolean
  readonly program: Pick<Program, 'out' | 'err' | 'stderr' | 'progress'>
}

/** Returns the exit code: 1 when something of a proxy stays, or may have. */
export async function cleanupCommand({ isDryRun, program }: CleanupOptions, signal: AbortSignal): Promise<number> {
  using progress = program.progress('looking for what proxies left')
  const { host, leftovers, problems } = await look(signal)
  progress.step('removing what proxies left')
  const report = (verb: string, gone: readonly Leftover[]) =>
    program.out(gone.map((leftover) => `${verb} ${renderLeftover(leftover)}\n`).join(''))
  const failures: string[] = [...problems]
  if (isDryRun) report('would remove', leftovers)
  // Told step by step, so that somebody who interrupts it knows what is gone.
  else
    for await (const removal of removeLeftovers(leftovers, host, signal))
      if ('removed' in removal) report('removed', removal.removed)
      else failures.push(removal.problem)

  if (leftovers.length === 0 && failures.length === 0) program.out('Nothing to remove.\n')
  for (const failure of failures) program.err(`${paint(program.stderr, 'red', 'Error:')} ${failure}\n`)
  return failures.length === 0 ? 0 : 1
}

async function look(signal: AbortSignal): Promise<Findings & { readonly host: CleanupHost }> {
  try {
    const host = await thisHost(signal)
    return { host, ...(await findLeftovers(host, signal)) }
  } catch (error) {
    signal.throwIfAborted()
    if (!isToolFailure(error)) throw error
    if (error.reason === 'not-permitted')
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

function isToolFailure(error: unknown): error is IptablesError | NfacctError | NetlinkError | ToolError {
  return [IptablesError, NfacctError, NetlinkError, ToolError].some((kind) => error instanceof kind)
}
