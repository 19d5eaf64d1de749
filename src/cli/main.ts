/** The command line: one daemon with kube-proxy's flags, and commands of Fairlead's own. */
import { nearestName } from '../config/nearest-name.ts'
import { daemonCommand } from './daemon/daemon-command.ts'
import { demoCommand } from './demo/demo-command.ts'
import type { KpngSource } from './kpng/to-mode.ts'
import { CommandError, thisProgram } from './program.ts'
import type { Program } from './program.ts'
import { renderCommand } from './render-command.ts'

type Command = (argv: readonly string[], program: Program, signal: AbortSignal) => Promise<number>

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['demo', demoCommand],
  ['render', renderCommand],
  ...(['kube', 'file', 'api', 'local'] as const).map((source) => [source, kpngCommandLater(source)] as const),
])

/** These bring a gRPC library with them, which no other command should wait for. */
function kpngCommandLater(source: KpngSource): Command {
  return async (argv, program, signal) => {
    const { kpngCommand } = await import('./kpng/kpng-command.ts')
    return kpngCommand(source)(argv, program, signal)
  }
}

/** Returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const program = thisProgram()
  const [name = '', ...rest] = argv
  try {
    const command = commandNamed(name)
    const signal = untilInterrupted()
    return await (command === undefined ? daemonCommand(argv, program, signal) : command(rest, program, signal))
  } catch (error) {
    // A sentence for the user; anything else is a bug, and its stack helps to find it.
    if (!(error instanceof CommandError)) throw error
    program.err(`Error: ${error.message}\n`)
    return 1
  }
}

/** Undefined: the daemon, which has flags only. */
function commandNamed(name: string): Command | undefined {
  const command = commands.get(name)
  if (command !== undefined || name === '' || name.startsWith('-')) return command
  const nearest = nearestName(name, commands.keys())
  const hint = nearest === undefined ? '' : `, did you mean ${nearest}?`
  throw new CommandError(`unknown command "${name}"${hint} (see fairlead --help)`)
}

/** The first signal asks for an orderly end, the second one ends at once. */
function untilInterrupted(): AbortSignal {
  const stop = new AbortController()
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(code)
      stop.abort(new CommandError(`stopped by ${signal}`))
    })
  return stop.signal
}
