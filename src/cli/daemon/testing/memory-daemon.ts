/** A daemon on a machine in memory, as the command line would start it. */
import { parsed } from '../../../config/testing/command-line.ts'
import { RunningConfig } from '../../../config/live/running-config.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import type { RootLogger } from '../../../observe/logging/create-logger.ts'
import { memoryHost } from '../../host/testing/memory-host.ts'
import type { MemoryHost } from '../../host/testing/memory-host.ts'
import { findMode } from '../../modes/find-mode.ts'
import type { Mode } from '../../modes/mode.ts'
import type { Daemon } from '../daemon.ts'
import { loadConfig } from '../load-config.ts'

export interface MemoryDaemonOptions {
  readonly flags?: readonly string[]
  /** Instead of the one that the flags name. */
  readonly mode?: Mode
  readonly host?: MemoryHost
}

interface MemoryDaemon extends Daemon {
  readonly log: RootLogger & RecordingLogger
}

export async function memoryDaemon({
  flags = [],
  mode,
  host = memoryHost(),
}: MemoryDaemonOptions = {}): Promise<MemoryDaemon> {
  // A socket would be one of the real machine.
  const { options } = parsed(['--debug-socket=none', ...flags], host.platform)
  const { config } = await loadConfig(options, host)
  const log = Object.assign(new RecordingLogger(), { verbosity: 0, setVerbosity() {}, configure() {}, flush() {} })
  return {
    ...options,
    config,
    running: new RunningConfig(config),
    file: undefined,
    mode: mode ?? (await findMode(config.mode, host.platform)),
    flags: {},
    isInitOnly: options.action.kind === 'init-only',
    traceTarget: { settings: undefined },
    version: '0.0.0',
    host,
    log,
  }
}
