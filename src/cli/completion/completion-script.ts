import { bashCompletion } from './bash-completion.ts'
import { commandShapes, daemonShape, shownFlags } from './command-shapes.ts'
import type { ShownFlag } from './command-shapes.ts'
import { fishCompletion } from './fish-completion.ts'
import type { Shell } from './shells.ts'
import { zshCompletion } from './zsh-completion.ts'

/** The command line as data, for one shell after the other. The whole of it is in the script: a shell that asks us would wait. */
export interface CompletedCommand {
  /** Empty for the daemon. */
  readonly name: string
  readonly about: string
  readonly flags: readonly ShownFlag[]
  readonly words: readonly string[]
}

export function completionScript(shell: Shell): string {
  const named = [...commandShapes].map(([name, shape]) => ({ ...shape, name, flags: shownFlags(shape) }))
  const help = {
    name: 'help',
    about: 'Prints what a command does, and its flags',
    flags: [],
    words: [...commandShapes.keys()],
  }
  const version = { name: 'version', about: 'Prints the version', flags: [], words: [] }
  const all = [...named, help, version].toSorted((left, right) => (left.name < right.name ? -1 : 1))
  const daemon = { ...daemonShape, name: '', flags: shownFlags(daemonShape) }
  return rendererOf[shell](daemon, all)
}

const rendererOf: Readonly<Record<Shell, (daemon: CompletedCommand, commands: readonly CompletedCommand[]) => string>> =
  { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }
