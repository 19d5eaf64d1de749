import type { FlagTable } from '../config/flags/flag.ts'

/** Splits a command line into the flags of a table (with their values) and everything else. */
export function splitFlags(
  table: FlagTable,
  argv: readonly string[],
): { readonly own: readonly string[]; readonly others: readonly string[] } {
  const own: string[] = []
  const others: string[] = []
  const rest = [...argv]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = '', inline] = /^--([^=]+)(=.*)?$/s.exec(argument) ?? shortIn(table, argument) ?? []
    const flag = table[name.replaceAll('_', '-')]
    if (flag === undefined) others.push(argument)
    else {
      own.push(argument)
      const value = inline === undefined && flag.type.alone === undefined ? rest.shift() : undefined
      if (value !== undefined) own.push(value)
    }
  }
  return { own, others }
}

/** `-ojson` and `-o=json` hold their value, `-o json` does not. */
function shortIn(table: FlagTable, argument: string): readonly [string, string, string | undefined] | undefined {
  const [, letter, inline] = /^-([A-Za-z])(.+)?$/s.exec(argument) ?? []
  const name = Object.keys(table).find((known) => letter !== undefined && table[known]?.short === letter)
  return name === undefined ? undefined : [argument, name, inline]
}
