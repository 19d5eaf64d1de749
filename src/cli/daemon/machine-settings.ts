/** Settings of the machine and of the process that do not depend on the mode's rules. */
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { applyConntrackSettings as apply } from '../../dataplane/sysctl/conntrack-settings.ts'
import { setOomScore } from '../../dataplane/sysctl/oom-score.ts'
import type { ModeContext, ModeOnNode } from '../modes/mode.ts'
import { CommandError } from '../program.ts'
import type { Daemon } from './daemon.ts'

/** Modes whose connections the kernel tracks cannot work well without them; others change nothing of the machine. */
export async function applyConntrackSettings(
  mode: Pick<ModeOnNode, 'tracksConnections'>,
  { conntrack }: ProxyConfig,
  { host, log }: Pick<ModeContext, 'host' | 'log'>,
): Promise<void> {
  if (!mode.tracksConnections) return
  const { sysctl, moduleParameters } = host
  try {
    await apply(conntrack, { sysctl, moduleParameters, cpus: host.cpus(), log })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`could not set conntrack parameters from kube-proxy configuration: ${reason}`, {
      cause: error,
    })
  }
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
