import type { CompletedCommand } from './completion-script.ts'

/** Needs bash 4 and nothing else, in particular not the package bash-completion. */
export function bashCompletion(daemon: CompletedCommand, commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ')
  const cases = commands.map(
    (command) => `    ${command.name})
      flags='${flagWords(command)}'
      words='${command.words.join(' ')}'
      ;;
`,
  )
  const values = [...valuesByFlag([daemon, ...commands])].map(([flag, words]) => `    ${flag}) words='${words}' ;;\n`)
  return `# Completes the command line of fairlead in bash. Made by "fairlead completion bash".

_fairlead() {
  local word=\${COMP_WORDS[COMP_CWORD]} flag='' flags words
  COMPREPLY=()

  # bash takes "--flag=value" for three words.
  if [[ $word == '=' ]]; then
    flag=\${COMP_WORDS[COMP_CWORD - 1]} word=''
  elif (( COMP_CWORD >= 2 )) && [[ \${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    flag=\${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ \${COMP_WORDS[COMP_CWORD - 1]} == -* && $word != -* ]]; then
    flag=\${COMP_WORDS[COMP_CWORD - 1]}
  fi

  words=''
  case $flag in
${values.join('')}  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi

  case \${COMP_WORDS[1]} in
${cases.join('')}    *)
      flags='${flagWords(daemon)}'
      (( COMP_CWORD > 1 )) || words='${names}'
      ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
    if [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  elif [[ -n $words && $flag != *[a-z] ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    # A value that nobody can list: often a file.
    compopt -o default 2>/dev/null
  fi
  return 0
}

complete -F _fairlead fairlead
`
}

/** A flag that wants a value comes with its "=". */
function flagWords({ flags }: CompletedCommand): string {
  return flags
    .flatMap(({ name, short, label }) => [
      `--${name}${label === undefined ? '' : '='}`,
      ...(short === undefined ? [] : [`-${short}`]),
    ])
    .join(' ')
}

/** The same flag may have more values with one command than with another: all are offered. */
function valuesByFlag(commands: readonly CompletedCommand[]): ReadonlyMap<string, string> {
  const found = new Map<string, Set<string>>()
  for (const { name, short, words } of commands.flatMap(({ flags }) => flags))
    for (const flag of words.length === 0 ? [] : [`--${name}`, ...(short === undefined ? [] : [`-${short}`])])
      found.set(flag, new Set([...(found.get(flag) ?? []), ...words]))
  return new Map([...found].map(([flag, words]) => [flag, [...words].join(' ')]))
}
