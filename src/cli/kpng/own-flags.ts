import type { FlagTable } from '../../config/flags/flag.ts'

/** Splits a command line into the flags of a table (with their values) and everything else. */
export function splitFlags(
  table: FlagTable,
  argv: readonly string[],
): { readonly own: readonly string[]; readonly others: readonly string[] } {
  const own: string[] = []
  const others: string[] = []
  const rest = [...argv]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = '', inline] = /^--([^=]+)(=.*)?$/s.exec(argument) ?? []
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
