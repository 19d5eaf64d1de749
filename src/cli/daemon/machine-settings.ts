/** Settings of the machine and of the process that do not depend on the mode's rules. */
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { applyConntrackSettings as apply } from '../../dataplane/sysctl/conntrack-settings.ts'
import type { ReadOnlySetting } from '../../dataplane/sysctl/conntrack-settings.ts'
import { setOomScore } from '../../dataplane/sysctl/oom-score.ts'
import type { ModeContext, ModeOnNode } from '../modes/mode.ts'
import { CommandError } from '../program.ts'
import type { Daemon } from './daemon.ts'

/**
 * Modes whose connections the kernel tracks cannot work well without them; others change nothing of the machine. Returns
 * what could not be written because it is read-only.
 */
export async function applyConntrackSettings(
  mode: Pick<ModeOnNode, 'tracksConnections'>,
  { conntrack }: ProxyConfig,
  { host, log }: Pick<ModeContext, 'host' | 'log'>,
): Promise<readonly ReadOnlySetting[]> {
  if (!mode.tracksConnections) return []
  const { sysctl, moduleParameters } = host
  try {
    return await apply(conntrack, { sysctl, moduleParameters, cpus: host.cpus(), log })
  } catch (error) {
    throw notSet(error)
  }
}

/**
 * At the start: an init container is there to write them. Without that right a proxy is still better than none, and a
 * container that is restarted has no other choice: init containers do not run again.
 */
export function tellReadOnly(settings: readonly ReadOnlySetting[], { isInitOnly, log }: Daemon): void {
  for (const { path, is, wanted, error } of settings) {
    if (isInitOnly) throw notSet(error)
    log.warn(
      'the kernel has another value than the configuration, and this process may not write it: a new pod sets it',
      {
        file: path,
        is,
        wanted,
        problem: error.message,
      },
    )
  }
}

function notSet(error: unknown): CommandError {
  const reason = error instanceof Error ? error.message : String(error)
  return new CommandError(`could not set conntrack parameters from kube-proxy configuration: ${reason}`, {
    cause: error,
  })
}

/** Only Linux has it. */
export async function applyOomScore(
  { oomScoreAdj }: ProxyConfig,
  { host, log }: Pick<Daemon, 'host' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  if (host.platform !== 'linux') return
  const { settings: self } = host.process
  await setOomScore({ score: oomScoreAdj, self, clock: host.clock, log }, signal)
}
