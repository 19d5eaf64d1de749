/** `fairlead demo`: a cluster in one process. The real daemon proxies it, and real kubectl changes it. */
import { resolve } from 'node:path'
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { DemoFolder } from './demo-folder.ts'
import { runDemo } from './run-demo.ts'

export const demoFlags = inGroup('Demo', {
  'api-port': { type: type.int32, default: 18_001, help: 'Port of the API server on 127.0.0.1.' },
  'console-port': {
    type: type.int32,
    default: 10_257,
    help: 'Port of the web console on 127.0.0.1, which shows the sample application live and has buttons to change it. 0 or a port in use: any that is free.',
  },
  'data-dir': {
    type: type.text,
    default: '',
    help: 'Keep the objects in this directory over restarts. Empty: in memory only.',
  },
  'kubeconfig-out': {
    type: type.text,
    default: '',
    help: 'Write the kubeconfig to this file. Empty: into --data-dir, or into a folder of its own.',
  },
  v: { type: type.int32, default: 0, short: 'v', help: 'Verbosity of the log: 2 shows each sync, 4 each connection.' },
})

const about =
  'Runs a sample application behind Fairlead on this machine: no root, no cluster.\n' +
  'Open the address that it prints first, and see what a service proxy does.'

export async function demoCommand(argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> {
  const read = parseFlags(demoFlags, argv, program.host.platform)
  if (!read.ok) throw new CommandError(`${read.problem} (see fairlead demo --help)`)
  if (read.wantsHelp) {
    const flags = renderFlagHelp(demoFlags, program.host.platform, program.stdout.columns)
    program.out(`${about}\n\nUsage:\n  fairlead demo [flags]\n\n${flags}`)
    return 0
  }
  if (read.positionals.length > 0) throw new CommandError(`demo takes no argument "${read.positionals[0]}"`)
  const { values } = read
  const apiPort = portOf(values, 'api-port')
  const consolePort = portOf(values, 'console-port')
  const dataDir = values['data-dir'] === '' ? '' : resolve(values['data-dir'])
  await using folder = await DemoFolder.open(dataDir, values['kubeconfig-out'])
  await runDemo({ apiPort, consolePort, dataDir, verbosity: values.v, folder, program }, signal)
  program.out('Stopped.\n')
  return 0
}

function portOf(
  values: Readonly<Record<'api-port' | 'console-port', number>>,
  flag: 'api-port' | 'console-port',
): number {
  const port = values[flag]
  if (port < 0 || port > 65_535)
    throw new CommandError(`--${flag}=${port} is not a port: choose one up to 65535, or 0 for any that is free`)
  return port
}
