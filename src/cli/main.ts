/** The command line: one daemon with kube-proxy's flags, and commands of Fairlead's own. */
import { nearestName } from '../net/nearest-name.ts'
import { daemonCommand } from './daemon/daemon-command.ts'
import { thisHost } from './host/this-host.ts'
import type { KpngSource } from './kpng/to-mode.ts'
import { CommandError, thisProgram } from './program.ts'
import type { Program } from './program.ts'
import { paint } from './terminal.ts'

type Command = (argv: readonly string[], program: Program, signal: AbortSignal) => Promise<number>
type LoadCommand = () => Promise<Command>

/**
 * Each is loaded when somebody asks for it: one brings an API server with it, others a gRPC library, and a daemon would
 * carry all that around for as long as it runs.
 */
const commands: ReadonlyMap<string, LoadCommand> = new Map<string, LoadCommand>([
  ['demo', async () => (await import('./demo/demo-command.ts')).demoCommand],
  ['render', async () => (await import('./render-command.ts')).renderCommand],
  ...(['kube', 'file', 'api', 'local'] as const).map((source) => [source, kpngCommand(source)] as const),
])

/** People try these first; `asFlags` makes flags of them. */
const words = ['help', 'version'] as const

function kpngCommand(source: KpngSource): LoadCommand {
  return async () => (await import('./kpng/kpng-command.ts')).kpngCommand(source)
}

/** Returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const program = thisProgram(thisHost())
  try {
    const args = asFlags(argv)
    const [name = '', ...rest] = args
    const load = commandNamed(name)
    const signal = untilInterrupted()
    return await (load === undefined ? daemonCommand(args, program, signal) : (await load())(rest, program, signal))
  } catch (error) {
    // A sentence for the user; anything else is a bug, and its stack helps to find it.
    if (!(error instanceof CommandError)) throw error
    program.err(`${paint(program.stderr, 'red', 'Error:')} ${error.message}\n`)
    return 1
  }
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
function untilInterrupted(): AbortSignal {
  const stop = new AbortController()
  for (const [signal, code] of [
    // Ctrl-C; on Windows also the first thing that NSSM tries.
    ['SIGINT', 130],
    // Windows does not have it.
    ['SIGTERM', 143],
    // The terminal was closed. By default Node.js ends at once, and temporary files would stay behind. Windows ends the
    // process about ten seconds later, whatever it does.
    ['SIGHUP', 129],
    // Ctrl-Break, which only Windows has.
    ['SIGBREAK', 149],
  ] as const)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(code)
      stop.abort(new CommandError(`stopped by ${signal}`))
    })
  return stop.signal
}
