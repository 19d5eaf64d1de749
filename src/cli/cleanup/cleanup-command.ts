/** `fairlead --cleanup`: gives the node back as if no proxy had ever run on it. */
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { thisHost } from './cleanup-host.ts'
import type { CleanupHost } from './cleanup-host.ts'
import { findLeftovers } from './find-leftovers.ts'
import type { Findings, Leftover } from './leftover.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { renderLeftover } from './render-leftover.ts'
import { ToolError } from './run-tool.ts'

export interface CleanupOptions {
  readonly isDryRun: boolean
  readonly program: Pick<Program, 'out' | 'err'>
}

/** Returns the exit code: 1 when something of a proxy stays, or may have. */
export async function cleanupCommand({ isDryRun, program }: CleanupOptions, signal: AbortSignal): Promise<number> {
  const host = await thisHost(signal)
  const found = await look(host, signal)
  const { removed, problems } = isDryRun
    ? { removed: found.leftovers, problems: [] }
    : await removeLeftovers(found.leftovers, host, signal)
  program.out(renderOutcome(removed, isDryRun ? 'would remove' : 'removed'))
  const allProblems = [...found.problems, ...problems]
  for (const problem of allProblems) program.err(`Error: ${problem}\n`)
  return allProblems.length === 0 ? 0 : 1
}

function renderOutcome(leftovers: readonly Leftover[], verb: string): string {
  if (leftovers.length === 0) return 'Nothing to remove.\n'
  return leftovers.map((leftover) => `${verb} ${renderLeftover(leftover)}\n`).join('')
}

async function look(host: CleanupHost, signal: AbortSignal): Promise<Findings> {
  try {
    return await findLeftovers(host, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isToolFailure(error)) throw error
    if (error.reason === 'not-permitted')
      throw new CommandError('--cleanup works on the rules of the kernel: run it as root', { cause: error })
    throw new CommandError(`--cleanup removed nothing, because it could not look everywhere: ${error.message}`, {
      cause: error,
    })
  }
}

function isToolFailure(error: unknown): error is IptablesError | NfacctError | ToolError {
  return error instanceof IptablesError || error instanceof NfacctError || error instanceof ToolError
}
