import { completeOptions } from '../../config/daemon/complete-options.ts'
import type { DaemonOptions } from '../../config/daemon/parse-daemon-command-line.ts'
import type { LoadedFile } from '../../config/file/config-file-watch.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { validateConfig } from '../../config/validation/validate-config.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'

export interface LoadedConfig {
  readonly config: ProxyConfig
  /** The file it came from, unless the flags were the configuration. */
  readonly file: LoadedFile | undefined
  readonly warnings: readonly string[]
}

/** The whole configuration, complete and valid, or a CommandError that says what to mend. */
export async function loadConfig(
  options: DaemonOptions,
  host: Pick<Host, 'platform' | 'findFile' | 'readTextFile'>,
  mode?: string,
): Promise<LoadedConfig> {
  const configFile = host.findFile(options.configFile)
  const completed = await completeOptions({ ...options, configFile }, host, mode)
  if (!completed.ok) throw new CommandError(completed.message)
  const validated = validateConfig(completed.config, host.platform)
  if (!validated.ok) throw new CommandError(validated.message)
  return { config: validated.config, file: completed.file, warnings: completed.warnings }
}
