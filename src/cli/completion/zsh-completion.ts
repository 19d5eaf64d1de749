import type { ShownFlag } from './command-shapes.ts'
import type { CompletedCommand } from './completion-script.ts'

export function zshCompletion(daemon: CompletedCommand, commands: readonly CompletedCommand[]): string {
  const described = commands.map(({ name, about }) => `    ${quoted(`${name}:${about}`)}\n`)
  const cases = commands.map((command) => `    ${command.name})\n${argumentsOf(command)}      ;;\n`)
  return `#compdef fairlead
# Completes the command line of fairlead in zsh. Made by "fairlead completion zsh".

_fairlead() {
  local -a commands
  commands=(
${described.join('')}  )
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe -t commands command commands
    return
  fi
  case $words[2] in
${cases.join('')}    *)
${argumentsOf(daemon)}      ;;
  esac
}

_fairlead "$@"
`
}

function argumentsOf({ name, flags, words }: CompletedCommand): string {
  const rest = words.length > 0 ? `:argument:(${words.join(' ')})` : ':argument:_files'
  const specs = [...flags.map(flagSpec), quoted(`*${rest}`)]
  // A command is the first word, and what follows belongs to it.
  const shifted = name === '' ? '' : '      shift words; (( CURRENT-- ))\n'
  return `${shifted}      _arguments \\\n${specs.map((spec) => `        ${spec}`).join(' \\\n')}\n`
}

/** \`'(-o --output)'{-o+,--output=}'[What it is.]:string:(text json)'\` */
function flagSpec({ name, short, help, label, words }: ShownFlag): string {
  const about = `[${help.replaceAll(/[[\]:\\]/g, String.raw`\$&`)}]`
  const value =
    label === undefined
      ? ''
      : `:${label.replaceAll(/[:=,]/g, ' ')}:${words.length > 0 ? `(${words.join(' ')})` : '_files'}`
  const [long, letter] = label === undefined ? [`--${name}`, `-${short}`] : [`--${name}=`, `-${short}+`]
  if (short === undefined) return quoted(`*${long}${about}${value}`)
  return `${quoted('*')}{${letter},${long}}${quoted(`${about}${value}`)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
