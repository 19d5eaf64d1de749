/** `fairlead doctor`: looks for what keeps Services from working on this node. It reads, and changes nothing. */
import { daemonFlags } from '../../config/daemon/daemon-flags.ts'
import { parseDaemonCommandLine } from '../../config/daemon/parse-daemon-command-line.ts'
import type { DaemonOptions } from '../../config/daemon/parse-daemon-command-line.ts'
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { askFlags } from '../ask/ask-flags.ts'
import { loadConfig } from '../daemon/load-config.ts'
import { nodeNameOf } from '../daemon/node-at-start.ts'
import type { Host } from '../host/host.ts'
import { findMode } from '../modes/find-mode.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { splitFlags } from '../split-flags.ts'
import { checks } from './checks.ts'
import { flagsOfDaemon, readProcesses } from './evidence/processes.ts'
import { examine } from './examine.ts'
import type { Examination } from './examine.ts'
import { severities } from './finding.ts'
import type { Severity } from './finding.ts'
import { evidenceReaders } from './open-evidence.ts'
import { renderJson, renderText } from './report.ts'
import { setupOn } from './setup.ts'
import type { Setup } from './setup.ts'
import { visible, visibleData } from '../visible.ts'

export const doctorFlags = inGroup('Doctor', {
  'before-start': {
    type: type.bool,
    default: false,
    help: 'Only what matters before the proxy runs, e.g. in an init container. No daemon is expected.',
  },
  'fail-on': {
    type: type.oneOf(['error', 'warning', 'never']),
    default: 'error',
    help: 'The exit code is 1 when something this bad is found: error, warning (or worse), or never.',
  },
  ...askFlags,
})

const usage = `Looks for what keeps Services from working on this node, and says how to mend it. Changes nothing.

Usage:
  fairlead doctor [flags] [flags of the daemon]

Give it the flags of the daemon: --config, --proxy-mode, --kubeconfig, --master, --hostname-override, --state-dir,
--objects and so on. Without any, it takes those of the daemon that runs on this node. docs/doctor.md lists all findings.
`

export async function doctorCommand(argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> {
  const { host } = program
  // All of them at once, so that a mistyped one is compared with all of them.
  const read = parseFlags({ ...daemonFlags, ...doctorFlags }, argv, host.platform)
  if (!read.ok) throw new CommandError(read.problem)
  const { others } = splitFlags(doctorFlags, argv)
  if (read.wantsHelp) {
    program.out(`${usage}\n${renderFlagHelp(doctorFlags, host.platform, program.stdout.columns)}`)
    return 0
  }
  const { values } = read
  const isBeforeStart = values['before-start']
  const flags = others.length > 0 || isBeforeStart ? others : await takenFlags(program)
  const { options, config } = await configOf(flags, program)
  const setup = setupOf(options, config, isBeforeStart, host)
  const mode = await findMode(config.mode, host.platform)
  using progress = program.progress('examining this node')
  const readers = evidenceReaders({ setup, options, mode, server: values.server, host })
  const examination = await examine(checks, setup, readers, signal)
  progress[Symbol.dispose]()
  const { stdout: terminal } = program
  program.out(
    values.output === 'json'
      ? renderJson(examination, { setup })
      : renderText(visibleData(examination), { setup, terminal }),
  )
  return exitCode(examination, values['fail-on'])
}

/** So that nobody has to type them again. */
async function takenFlags(program: Program): Promise<readonly string[]> {
  const daemon = flagsOfDaemon(await readProcesses(program.host).catch(() => ({ fairleads: [] })))
  if (daemon === undefined) return []
  const { pid, flags } = daemon
  program.err(`taking the flags of the daemon, process ${pid}: ${visible(flags.join(' '))}\n`)
  return flags
}

async function configOf(
  flags: readonly string[],
  program: Program,
): Promise<{ readonly options: DaemonOptions; readonly config: ProxyConfig }> {
  const parsed = parseDaemonCommandLine(flags, program.host.platform)
  if (parsed.kind === 'refused') throw new CommandError(parsed.message)
  if (parsed.kind !== 'run') throw new CommandError('doctor takes the flags of a daemon that serves')
  for (const warning of parsed.warnings) program.err(`${warning}\n`)
  const { config } = await loadConfig(parsed.options, program.host)
  return { options: parsed.options, config }
}

function setupOf(options: DaemonOptions, config: ProxyConfig, isBeforeStart: boolean, host: Host): Setup {
  return setupOn(host, {
    config,
    nodeName: nodeNameOf(config.hostnameOverride, host),
    stateDir: options.stateDir,
    objects: options.objects,
    logFile: options.flags['log-file'],
    clientAddress: options.userspace.clientAddress,
    ebpf: options.ebpf,
    isBeforeStart,
  })
}

function exitCode({ findings }: Examination, failOn: Exclude<Severity, 'note'> | 'never'): number {
  if (failOn === 'never') return 0
  const bad = severities.slice(0, severities.indexOf(failOn) + 1)
  return findings.some(({ severity }) => bad.includes(severity)) ? 1 : 0
}
