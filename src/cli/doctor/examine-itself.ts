/** A running proxy examines its own node. Loaded when somebody asks: a daemon that nobody asks does not carry the checks. */
import type { Daemon } from '../daemon/daemon.ts'
import { checks } from './checks.ts'
import { readProcesses } from './evidence/processes.ts'
import { examine } from './examine.ts'
import type { Examination } from './examine.ts'
import { evidenceReaders } from './open-evidence.ts'
import { setupOn } from './setup.ts'

export function examineItself(daemon: Daemon, nodeName: string, signal: AbortSignal): Promise<Examination> {
  const { host, mode } = daemon
  const setup = setupOn(host, {
    config: daemon.running.config,
    nodeName,
    stateDir: daemon.stateDir,
    objects: daemon.objects,
    logFile: daemon.flags['log-file'] ?? '',
    clientAddress: daemon.userspace.clientAddress,
    ebpf: daemon.ebpf,
    isBeforeStart: false,
  })
  const readers = {
    ...evidenceReaders({ setup, options: daemon, mode, server: '', host }),
    // Its ports and rules are not those of a stranger.
    processes: () => readProcesses(host, { isProxyItself: true }),
  }
  return examine(checks, setup, readers, signal)
}
