/** Settings of the machine and of the process that do not depend on the mode's rules. */
import type { Logger } from '../../core/logger.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { applyConntrackSettings as apply } from '../../dataplane/sysctl/conntrack-settings.ts'
import type { UnwrittenSetting } from '../../dataplane/sysctl/conntrack-settings.ts'
import { setOomScore } from '../../dataplane/sysctl/oom-score.ts'
import { aborted } from '../../observe/http/http-server.ts'
import type { ModeContext, ModeOnNode } from '../modes/mode.ts'
import { CommandError } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import type { Daemon } from './daemon.ts'

/**
 * Modes whose connections the kernel tracks cannot work well without them; others change nothing of the machine. Returns
 * what could not be written because it is read-only or not there.
 */
export async function applyConntrackSettings(
  mode: Pick<ModeOnNode, 'tracksConnections'>,
  { conntrack }: ProxyConfig,
  { host, log }: Pick<ModeContext, 'host' | 'log'>,
): Promise<readonly UnwrittenSetting[]> {
  if (!mode.tracksConnections) return []
  const { sysctl, moduleParameters } = host
  const write = () => apply(conntrack, { sysctl, moduleParameters, cpus: host.cpus(), log })
  try {
    const unwritten = await write()
    if (!unwritten.some(isMissing)) return unwritten
    await haveConntrackLoaded(host, log)
    return await write()
  } catch (error) {
    throw notSet(error)
  }
}

function isMissing({ error }: UnwrittenSetting): boolean {
  return error.reason === 'not-found'
}

/**
 * Whoever asks for the connections has the kernel load nf_conntrack, from the node's own files and without
 * CAP_SYS_MODULE. Nobody has asked yet on a node that has just booted: a nat table of iptables without rules does not.
 */
async function haveConntrackLoaded({ openNetlink, exec }: ModeContext['host'], log: Logger): Promise<void> {
  try {
    const conntrack = await openConntrack({ openNetlink, exec, log })
    for await (const _ of conntrack.dump('ipv4', AbortSignal.timeout(loadingTimeoutMs))) return
  } catch (error) {
    log.debug(1, 'the kernel does not show its connections', { error })
  }
}

const loadingTimeoutMs = 10_000

/**
 * At the start: an init container is there to write them. Without that right a proxy is still better than none, and a
 * container that is restarted has no other choice: init containers do not run again. What the kernel does not have, nobody
 * can write, and to try again and again would keep the node without a proxy.
 */
export function tellUnwritten(
  settings: readonly UnwrittenSetting[],
  { isInitOnly, log }: Pick<Daemon, 'isInitOnly' | 'log'>,
): void {
  for (const setting of settings) {
    const { path, is, wanted, error } = setting
    if (isInitOnly && !isMissing(setting)) throw notSet(error)
    log.warn(
      isMissing(setting)
        ? 'the kernel has no such setting: load nf_conntrack before the proxy starts; tried again after the first sync'
        : 'the kernel has another value than the configuration, and this process may not write it: a new pod sets it',
      { file: path, is, wanted, problem: error.message },
    )
  }
}

/** The kernel loads nf_conntrack for the first rules that need it, if nothing did so before. */
export function lateSettings(
  unwritten: readonly UnwrittenSetting[],
  { daemon, prepared, readiness }: LateSettingsParts,
): readonly Runnable[] {
  if (!unwritten.some(isMissing)) return []
  return [
    {
      async run(signal) {
        await aborted(AbortSignal.any([signal, readiness.ready]))
        if (signal.aborted) return
        try {
          tellUnwritten(await applyConntrackSettings(prepared.mode, daemon.running.config, prepared.context), daemon)
        } catch (error) {
          daemon.log.warn('conntrack settings could not be written after the first sync', { error })
        }
      },
    },
  ]
}

export interface LateSettingsParts {
  readonly daemon: Pick<Daemon, 'running' | 'isInitOnly' | 'log'>
  readonly prepared: { readonly mode: ModeOnNode; readonly context: ModeContext }
  readonly readiness: Pick<Readiness, 'ready'>
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
