/**
 * Flags that count before a command reads the others: what is wrong with those must be said in the log file, and the
 * service control manager does not wait for a configuration.
 */
import { win32 } from 'node:path'
import { logFileFlags } from '../../config/daemon/fairlead-flags.ts'
import { windowsServiceFlag } from '../../config/daemon/windows-flags.ts'
import { inGroup } from '../../config/flags/flag.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import type { Host } from '../host/host.ts'
import { splitFlags } from '../split-flags.ts'
import { CommandError } from '../program.ts'

export interface EarlyFlags {
  readonly isService: boolean
  readonly logFile: LogFilePlace | undefined
}

export interface LogFilePlace {
  readonly path: string
  readonly maxBytes: number
}

const flags = inGroup('', { ...logFileFlags, 'windows-service': windowsServiceFlag })
const smallestLogBytes = 1024

/** `argv` is the whole command line, the command's name included. */
export function readEarlyFlags(argv: readonly string[], host: Pick<Host, 'platform' | 'env'>): EarlyFlags {
  const isService = host.platform === 'win32' && valueOf('windows-service', argv, host)
  const path = valueOf('log-file', argv, host)
  const { bytes: maxBytes, text } = valueOf('log-file-max-size', argv, host)
  if (maxBytes < smallestLogBytes)
    throw new CommandError(`--log-file-max-size=${text} is too small: give at least 1Ki, such as 50Mi`)
  if (path !== '') return { isService, logFile: { path, maxBytes } }
  // A service has no console, so without a file its log would be lost.
  return { isService, logFile: isService ? { path: usualPath(argv, host.env), maxBytes } : undefined }
}

/** The default if the value cannot be read: the command itself will say so. */
function valueOf<Name extends keyof typeof flags>(
  name: Name,
  argv: readonly string[],
  { platform }: Pick<Host, 'platform'>,
): (typeof flags)[Name]['default'] {
  const end = argv.indexOf('--')
  const { own } = splitFlags({ [name]: flags[name] }, end < 0 ? argv : argv.slice(0, end))
  const read = parseFlags(flags, own, platform)
  return read.ok ? read.values[name] : flags[name].default
}

/** One file for each command: a core and a backend on one node must not write to the same one. */
function usualPath(argv: readonly string[], env: NodeJS.ProcessEnv): string {
  const [first = ''] = argv
  const words = argv.filter((word, place) => word.startsWith('to-') || (place === 0 && !first.startsWith('-')))
  const folder = env['ProgramData'] ?? String.raw`C:\ProgramData`
  return win32.join(folder, 'fairlead', 'logs', `${['fairlead', ...words].join('-')}.log`)
}
