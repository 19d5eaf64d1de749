import type { ShownFlag } from './command-shapes.ts'
import type { CompletedCommand } from './completion-script.ts'

export function fishCompletion(daemon: CompletedCommand, commands: readonly CompletedCommand[]): string {
  const first = commands.map(
    ({ name, about }) => `complete -c fairlead -n __fairlead_first -f -a ${name} -d ${quoted(about)}\n`,
  )
  const each = [daemon, ...commands].map((command) => {
    const condition = `-n "__fairlead_command ${command.name}"`
    const words =
      command.words.length === 0 ? '' : `complete -c fairlead ${condition} -f -a "${command.words.join(' ')}"\n`
    return `\n${words}${command.flags.map((flag) => `complete -c fairlead ${condition}${flagOptions(flag)}\n`).join('')}`
  })
  return `# Completes the command line of fairlead in fish. Made by "fairlead completion fish".

# No word but the one that is being written.
function __fairlead_first
    test (count (commandline -opc)) -eq 1
end

# The command that was written is this one; without a name, it is the daemon.
function __fairlead_command
    set -l words (commandline -opc)
    set -l command ''
    if set -q words[2]; and not string match -q -- '-*' $words[2]
        set command $words[2]
    end
    test "$command" = "$argv[1]"
end

${first.join('')}${each.join('')}`
}

function flagOptions({ name, short, help, label, words }: ShownFlag): string {
  const letter = short === undefined ? '' : ` -s ${short}`
  // A flag of one letter is only that in fish.
  const long = name.length === 1 ? '' : ` -l ${name}`
  const value = label === undefined ? '' : words.length === 0 ? ' -r -F' : ` -x -a "${words.join(' ')}"`
  return `${letter}${long}${value} -d ${quoted(help)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`
}
