/** The command line: one daemon with kube-proxy's flags, and commands of Fairlead's own. */
import { nearestName } from '../net/nearest-name.ts'
import { daemonCommand } from './daemon/daemon-command.ts'
import { Hangups } from './hangups.ts'
import { thisHost } from './host/this-host.ts'
import type { KpngSource } from './kpng/to-mode.ts'
import { CommandError, thisProgram } from './program.ts'
import type { Program } from './program.ts'
import { readEarlyFlags } from './service/early-flags.ts'
import type { LogFilePlace } from './service/early-flags.ts'
import { paint } from './terminal.ts'
import { visible } from './visible.ts'

type Command = (argv: readonly string[], program: Program, signal: AbortSignal) => Promise<number>
type LoadCommand = () => Promise<Command>

/**
 * Each is loaded when somebody asks for it: one brings an API server with it, others a gRPC library, and a daemon would
 * carry all that around for as long as it runs.
 */
const loaders = {
  completion: async () => (await import('./completion/completion-command.ts')).completionCommand,
  debug: async () => (await import('./debug/debug-command.ts')).debugCommand,
  demo: async () => (await import('./demo/demo-command.ts')).demoCommand,
  doctor: async () => (await import('./doctor/doctor-command.ts')).doctorCommand,
  explain: async () => (await import('./explain/explain-command.ts')).explainCommand,
  migrate: async () => (await import('./migrate/migrate-command.ts')).migrateCommand,
  render: async () => (await import('./render-command.ts')).renderCommand,
  sockets: async () => (await import('./sockets/sockets-command.ts')).socketsCommand,
  top: async () => (await import('./top/top-command.ts')).topCommand,
  trace: async () => (await import('./trace/trace-command.ts')).traceCommand,
  kube: kpngCommand('kube'),
  file: kpngCommand('file'),
  api: kpngCommand('api'),
  local: kpngCommand('local'),
} as const satisfies Readonly<Record<string, LoadCommand>>

export type CommandName = keyof typeof loaders

const commands: ReadonlyMap<string, LoadCommand> = new Map(Object.entries(loaders))
/** Besides the daemon, which has no name, KPNG's commands run for as long as their node does. */
const shortCommands: ReadonlySet<string> = new Set([
  'completion',
  'debug',
  'demo',
  'doctor',
  'explain',
  'migrate',
  'render',
  'sockets',
  'top',
  'trace',
])

/** People try these first; `asFlags` makes flags of them. */
const words = ['help', 'version'] as const

function kpngCommand(source: KpngSource): LoadCommand {
  return async () => (await import('./kpng/kpng-command.ts')).kpngCommand(source)
}

/** Returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const host = thisHost()
  const hangups = new Hangups()
  return withSentences(thisProgram(host, undefined, hangups), async (program) => {
    const args = asFlags(argv)
    const [name = '', ...rest] = args
    const load = commandNamed(name)
    const run = async (program: Program, signal: AbortSignal) =>
      load === undefined ? daemonCommand(args, program, signal) : (await load())(rest, program, signal)
    if (shortCommands.has(name)) return run(program, untilInterrupted(hangups))
    const { isService, logFile } = readEarlyFlags(args, host)
    if (logFile === undefined) return run(program, untilInterrupted(hangups))
    if (!isService) return run(await logging(program, logFile), untilInterrupted(hangups))
    const { serviceCommand } = await import('./service/service-command.ts')
    return serviceCommand(
      (host, onRunning, signal) => withSentences(thisProgram(host, onRunning), (program) => run(program, signal)),
      logFile,
      host,
    )
  })
}

/** A CommandError is a sentence for the user; anything else is a bug, and its stack helps to find it. */
async function withSentences(program: Program, work: (program: Program) => Promise<number>): Promise<number> {
  try {
    return await work(program)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    program.err(`${paint(program.stderr, 'red', 'Error:')} ${visible(error.message)}\n`)
    return 1
  }
}

async function logging(program: Program, logFile: LogFilePlace): Promise<Program> {
  const { logToFile } = await import('./service/log-to-file.ts')
  return { ...program, host: logToFile(program.host, logFile, { hasConsole: true }) }
}

/** `help render` is `render --help`, and `version` is `--version`. */
function asFlags(argv: readonly string[]): readonly string[] {
  const [word, ...rest] = argv
  if (word === 'version') return ['--version', ...rest]
  return word === 'help' ? [...rest, '--help'] : argv
}

/** A command line without a command is the daemon's. */
function commandNamed(name: string): LoadCommand | undefined {
  const command = commands.get(name)
  if (command !== undefined || name === '' || name.startsWith('-')) return command
  const nearest = nearestName(name, [...commands.keys(), ...words])
  const hint = nearest === undefined ? '' : `, did you mean ${nearest}?`
  throw new CommandError(`unknown command "${name}"${hint} (see fairlead --help)`)
}

/** The first signal asks for an orderly end, the second one ends at once. */
function untilInterrupted(hangups: Hangups): AbortSignal {
  const stop = new AbortController()
  for (const [signal, code] of [
    // Ctrl-C; on Windows also the first thing that NSSM tries.
    ['SIGINT', 130],
    // Windows does not have it.
    ['SIGTERM', 143],
    // The terminal was closed; without one, somebody wants the configuration to be read again. By default Node.js ends at
    // once, and temporary files would stay behind. Windows ends the process about ten seconds later, whatever it does.
    ['SIGHUP', 129],
    // Ctrl-Break, which only Windows has.
    ['SIGBREAK', 149],
  ] as const)
    process.on(signal, () => {
      if (signal === 'SIGHUP' && !process.stdin.isTTY && !process.stderr.isTTY && hangups.deliver()) return
      if (stop.signal.aborted) process.exit(code)
      stop.abort(new CommandError(`stopped by ${signal}`))
    })
  return stop.signal
}
