/** What the daemon does about its configuration file, as the command line wants it. */
import { watchConfigFile } from '../../../config/file/config-file-watch.ts'
import type { LoadedFile } from '../../../config/file/config-file-watch.ts'
import { ConfigMetrics } from '../../../observe/metrics/config-metrics.ts'
import { CommandError } from '../../program.ts'
import type { Runnable } from '../../run-all.ts'
import type { ClusterParts, Daemon } from '../daemon.ts'
import { ConfigReload } from './config-reload.ts'
import type { ConfigReloadOptions } from './config-reload.ts'
import { ReloadStatus } from './reload-status.ts'

export interface OpenReloadOptions extends Pick<ConfigReloadOptions, 'prepared' | 'proxies' | 'events'> {
  readonly daemon: Daemon
  readonly metrics: Pick<ClusterParts['metrics'], 'registry'>
}

export function configReload(options: OpenReloadOptions): {
  readonly status: ReloadStatus
  readonly parts: readonly Runnable[]
} {
  const { file, onConfigChange, running, host } = options.daemon
  const status = new ReloadStatus(running, host.clock.now())
  const metrics = new ConfigMetrics(options.metrics.registry, status)
  if (file === undefined) return { status, parts: [] }
  const part = onConfigChange === 'exit' ? exitOnChange(file) : new ConfigReload({ ...options, file, status, metrics })
  return { status, parts: [part] }
}

/** As in kube-proxy: whoever supervises the process starts it again with the new content. */
function exitOnChange(file: LoadedFile): Runnable {
  return {
    async run(signal) {
      const change = await watchConfigFile({ file }, signal)
      if (change !== undefined) throw new CommandError(change.message, { cause: change })
    },
  }
}
