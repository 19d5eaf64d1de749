import { breakWords } from './break-words.ts'
import { type Flag, flagsOn, type FlagTable } from './flag.ts'

const widest = 116
/** If there is less room beside the flags, their text is put below them. */
const narrowestText = 40
const belowIndent = 10

/** The flags under their headings, with their values, descriptions and defaults, as wide as the terminal. */
export function renderFlagHelp(table: FlagTable, platform: NodeJS.Platform, columns = widest): string {
  const width = Math.min(columns, widest)
  const shown = flagsOn(table, platform).filter(([, flag]) => flag.deprecated === undefined)
  const lefts = new Map(shown.map(([name, flag]) => [name, leftColumn(name, flag)]))
  const indent = Math.max(...[...lefts.values()].map((left) => left.length)) + 3
  const groups = [...new Set(shown.map(([, flag]) => flag.group))]
    .map((group) => {
      const members = shown.filter(([, flag]) => flag.group === group)
      const lines = members.map(([name, flag]) =>
        row(lefts.get(name) ?? '', `${flag.help}${renderDefault(flag)}`, indent, width),
      )
      return `${group}:\n${lines.join('\n')}\n`
    })
    .join('\n')
  return `${groups}\n${row('  -h, --help', 'Print this text and exit.', indent, width)}\n`
}

function leftColumn(name: string, flag: Flag<unknown>): string {
  const short = flag.short === undefined ? '      ' : `  -${flag.short}, `
  return `${short}--${name} ${flag.type.label}`.trimEnd()
}

/** Like pflag, shows no default that is empty, zero or false. */
function renderDefault({ type, default: value }: Flag<unknown>): string {
  const text = type.render(value)
  if (['', '0', '0s', 'false', '[]'].includes(text)) return ''
  return ` (default ${typeof value === 'string' && type.label === 'string' ? JSON.stringify(text) : text})`
}

function row(left: string, text: string, indent: number, width: number): string {
  if (width - indent >= narrowestText)
    return left.padEnd(indent) + breakWords(text, width - indent).join(`\n${' '.repeat(indent)}`)
  return [left, ...breakWords(text, width - belowIndent)].join(`\n${' '.repeat(belowIndent)}`)
}
