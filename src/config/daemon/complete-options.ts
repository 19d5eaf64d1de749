import { joinProblems } from '../join-problems.ts'
import { featureGateProblems } from '../feature-gates.ts'
import type { LoadedFile } from '../file/config-file-watch.ts'
import { configFromV1alpha1 } from '../file/config-from-v1alpha1.ts'
import { decodeConfigFile } from '../file/decode-config-file.ts'
import { withPlatformDefaults } from '../platform.ts'
import type { UncheckedConfig } from '../proxy-config.ts'
import type { DaemonFlagValues } from './daemon-flags.ts'
import { configFromFlags, withFairleadFlags, withLoggingFlags } from './config-from-flags.ts'
import type { DaemonOptions } from './parse-daemon-command-line.ts'

export type Completion =
  | {
      readonly ok: true
      readonly config: UncheckedConfig
      /** The file it came from, which is watched. Absent if the flags are the configuration. */
      readonly file: LoadedFile | undefined
      readonly warnings: readonly string[]
    }
  | { readonly ok: false; readonly message: string }

interface Host {
  readonly platform: NodeJS.Platform
  readTextFile(path: string): Promise<string>
}

/**
 * Makes the whole configuration from the flags or the file; `validateConfig` checks it afterwards. With `mode`, the
 * file is read as if it had that mode.
 */
export async function completeOptions(options: DaemonOptions, host: Host, mode?: string): Promise<Completion> {
  const loaded = await loadConfig(options, host, mode)
  if (!loaded.ok) return { ok: false, message: `failed complete: ${loaded.message}` }
  const hostname = hostnameOverride(options, loaded.config)
  if (hostname === undefined)
    return {
      ok: false,
      message: 'failed complete: empty hostname-override is invalid: give --hostname-override the name of the Node',
    }
  const config = { ...withPlatformDefaults(loaded.config, host.platform), hostnameOverride: hostname }
  const problems = featureGateProblems(config.featureGates)
  if (problems.length > 0) return { ok: false, message: `failed complete: ${joinProblems(problems)}` }
  return { ...loaded, config }
}

async function loadConfig(
  { configFile, flags, given }: DaemonOptions,
  host: Host,
  mode: string | undefined,
): Promise<Completion> {
  if (configFile === '') return { ok: true, config: configFromFlags(flags, given), file: undefined, warnings: [] }
  let content: string
  try {
    content = await host.readTextFile(configFile)
  } catch (error) {
    return { ok: false, message: `cannot read the configuration file ${configFile}: ${(error as Error).message}` }
  }
  const decoded = decodeConfigFile(content)
  if (!decoded.ok)
    return {
      ok: false,
      message: `failed to decode ${configFile}: ${joinProblems(decoded.problems.map(({ text }) => text))}`,
    }
  const config = configFromV1alpha1(mode === undefined ? decoded.fields : { ...decoded.fields, mode }, decoded.fairlead)
  return {
    ok: true,
    config: {
      ...config,
      logging: withLoggingFlags(config.logging, flags, given),
      fairlead: withFairleadFlags(config.fairlead, flags, given),
    },
    file: { path: configFile, content },
    warnings: [...decoded.warnings, ...serviceWarning(config, flags, host)].map(
      (warning) => `${configFile}: ${warning}`,
    ),
  }
}

function serviceWarning(config: UncheckedConfig, flags: DaemonFlagValues, { platform }: Host): readonly string[] {
  if (platform !== 'win32' || !config.windowsRunAsService || flags['windows-service']) return []
  return ['windowsRunAsService has no effect, because Windows does not wait for the file: use --windows-service']
}

/** The flag wins over the file; a blank one counts as absent. */
function hostnameOverride({ flags }: DaemonOptions, config: UncheckedConfig): string | undefined {
  const flag = flags['hostname-override']
  if (flag === '') return config.hostnameOverride
  return flag.trim() === '' ? undefined : flag.trim().toLowerCase()
}
