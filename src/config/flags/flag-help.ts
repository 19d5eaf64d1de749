import { type Flag, flagsOn, type FlagTable } from './flag.ts'

const width = 116

/** The flags under their headings, with the value each takes, what it does and its default. */
export function renderFlagHelp(table: FlagTable, platform: NodeJS.Platform): string {
  const shown = flagsOn(table, platform).filter(([, flag]) => flag.deprecated === undefined)
  const lefts = new Map(shown.map(([name, flag]) => [name, leftColumn(name, flag)]))
  const indent = Math.max(...[...lefts.values()].map((left) => left.length)) + 3
  const groups = [...new Set(shown.map(([, flag]) => flag.group))]
    .map((group) => {
      const members = shown.filter(([, flag]) => flag.group === group)
      const lines = members.map(([name, flag]) =>
        row(lefts.get(name) ?? '', `${flag.help}${renderDefault(flag)}`, indent),
      )
      return `${group}:\n${lines.join('\n')}\n`
    })
    .join('\n')
  return `${groups}\n${row('  -h, --help', 'Print this text and exit.', indent)}\n`
}

function leftColumn(name: string, flag: Flag<unknown>): string {
  const short = flag.short === undefined ? '      ' : `  -${flag.short}, `
  return `${short}--${name} ${flag.type.label}`.trimEnd()
}

/** Like pflag, says nothing of a default that is empty, zero or false. */
function renderDefault({ type, default: value }: Flag<unknown>): string {
  const text = type.render(value)
  if (['', '0', '0s', 'false', '[]'].includes(text)) return ''
  return ` (default ${typeof value === 'string' && type.label === 'string' ? JSON.stringify(text) : text})`
}

function row(left: string, text: string, indent: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width - indent) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return left.padEnd(indent) + [...lines, line].join(`\n${' '.repeat(indent)}`)
}
