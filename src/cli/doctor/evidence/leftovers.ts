import type { Leftover } from '../../../core/leftover.ts'
import { leftoversOnNode } from '../../cleanup/leftovers-on-node.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'
import type { Setup } from '../setup.ts'

export interface LeftoverFacts {
  readonly leftovers: readonly Leftover[]
  /** What could not be looked at, or not be removed. */
  readonly problems: readonly string[]
}

export async function readLeftovers(
  host: Host,
  { stateDir, config, ebpf }: Pick<Setup, 'stateDir' | 'config' | 'ebpf'>,
  signal: AbortSignal,
): Promise<LeftoverFacts> {
  try {
    await using found = await leftoversOnNode({ host, stateDir, pins: ebpf.pins }, signal, config.mode)
    return { leftovers: found.removals.flatMap(({ leftovers }) => leftovers), problems: found.problems }
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    throw new CannotLook(reason, 'Run as root, with CAP_NET_ADMIN and CAP_NET_RAW.', { cause: error })
  }
}
