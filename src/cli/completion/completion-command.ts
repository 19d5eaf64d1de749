/** `fairlead completion SHELL`: prints a script that completes Fairlead's command line. */
import { nearestName } from '../../net/nearest-name.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { completionScript } from './completion-script.ts'
import { shells } from './shells.ts'

const usage = `Prints a script that completes the command line of fairlead. The packages install it.

Usage:
  fairlead completion bash > /etc/bash_completion.d/fairlead
  fairlead completion zsh  > /usr/local/share/zsh/site-functions/_fairlead
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish
`

export async function completionCommand(argv: readonly string[], program: Program): Promise<number> {
  if (argv.some((argument) => argument === '--help' || argument === '-h')) {
    program.out(usage)
    return 0
  }
  const [name = '', ...more] = argv
  const shell = shells.find((known) => known === name)
  if (shell === undefined || more.length > 0) {
    const nearest = nearestName(name, shells)
    const hint = nearest === undefined ? '' : `, did you mean ${nearest}?`
    throw new CommandError(`completion takes one argument, the shell: ${shells.join(', ')}${hint}`)
  }
  program.out(completionScript(shell))
  return Promise.resolve(0)
}
