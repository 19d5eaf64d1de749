import { type Flag, flagsOn, type FlagTable, type FlagValues } from './flag.ts'
import { nearestName } from '../../net/nearest-name.ts'
import { shortened, shownValue } from '../../net/shown-value.ts'

export interface FlagsRead<Table extends FlagTable> {
  readonly ok: true
  readonly values: FlagValues<Table>
  /** The flags that were on the command line, not defaulted. */
  readonly given: ReadonlySet<keyof Table & string>
  readonly positionals: readonly string[]
  readonly wantsHelp: boolean
  /** For stderr: one for each deprecated flag that is used. */
  readonly warnings: readonly string[]
}

export type FlagsResult<Table extends FlagTable> = FlagsRead<Table> | { readonly ok: false; readonly problem: string }

/**
 * Reads a command line as Kubernetes' programs do (pflag): `--x=v`, `--x v`, `-v5`, `--bool`, `--bool=false`, `_` for
 * `-` in names, flags and other arguments in any order, `--` before arguments that look like flags.
 */
export function parseFlags<Table extends FlagTable>(
  table: Table,
  argv: readonly string[],
  platform: NodeJS.Platform,
): FlagsResult<Table> {
  const reading = new Reading(table, platform)
  const rest = [...argv]
  try {
    for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
      if (argument === '--') {
        reading.positionals.push(...rest)
        break
      }
      if (argument.startsWith('--')) reading.takeLong(argument.slice(2), rest)
      else if (argument.startsWith('-') && argument !== '-') reading.takeShort(argument.slice(1), rest)
      else reading.positionals.push(argument)
    }
  } catch (error) {
    if (error instanceof FlagProblem) return { ok: false, problem: error.message }
    throw error
  }
  const { positionals, wantsHelp, warnings } = reading
  return {
    ok: true,
    values: Object.fromEntries(reading.values) as FlagValues<Table>,
    given: reading.given,
    positionals,
    wantsHelp,
    warnings,
  }
}

/** Thrown at the first problem; never leaves this file. */
class FlagProblem extends Error {
  override readonly name = 'FlagProblem'
}

class Reading<Table extends FlagTable> {
  readonly values: Map<string, unknown>
  readonly given = new Set<keyof Table & string>()
  readonly positionals: string[] = []
  readonly warnings: string[] = []
  wantsHelp = false
  readonly #table: Table
  readonly #flags: ReadonlyMap<string, Flag<unknown>>
  readonly #platform: NodeJS.Platform

  constructor(table: Table, platform: NodeJS.Platform) {
    this.#table = table
    this.#platform = platform
    this.#flags = new Map(flagsOn(table, platform))
    this.values = new Map(Object.entries(table).map(([name, flag]) => [name, flag.default]))
  }

  takeLong(argument: string, rest: string[]): void {
    const equals = argument.indexOf('=')
    const name = (equals < 0 ? argument : argument.slice(0, equals)).replaceAll('_', '-')
    if (name === '' || name.startsWith('-')) throw new FlagProblem(`bad flag syntax: --${argument}`)
    const flag = this.#flags.get(name)
    if (flag === undefined) {
      if (name !== 'help') throw new FlagProblem(this.#unknown(name))
      this.wantsHelp = true
    } else this.#set(name, flag, equals < 0 ? undefined : argument.slice(equals + 1), rest)
  }

  /** `-v5`, `-v=5`, `-v 5`, and several flags without a value in one word. */
  takeShort(letters: string, rest: string[]): void {
    for (let i = 0; i < letters.length; i++) {
      const letter = letters.charAt(i)
      const [name, flag] = [...this.#flags].find(([, flag]) => flag.short === letter) ?? []
      if (name === undefined || flag === undefined) {
        if (letter !== 'h') throw new FlagProblem(`unknown shorthand flag: '${letter}' in -${letters}`)
        this.wantsHelp = true
        continue
      }
      const after = letters.slice(i + 1)
      if (after.startsWith('=')) return this.#set(name, flag, after.slice(1), rest)
      if (flag.type.alone === undefined && after !== '') return this.#set(name, flag, after, rest)
      this.#set(name, flag, undefined, rest)
    }
  }

  #set(name: string, flag: Flag<unknown>, inline: string | undefined, rest: string[]): void {
    const [next = ''] = rest
    // kube-proxy would read it as an argument, and say that it takes none.
    if (inline === undefined && flag.type.alone !== undefined && /^(true|false)$/i.test(next))
      throw new FlagProblem(`--${name} takes its value after "=": write --${name}=${next}`)
    const text = inline ?? flag.type.alone ?? rest.shift()
    if (text === undefined) throw new FlagProblem(`flag needs an argument: --${name} ${flag.type.label}`)
    const earlier = { value: this.values.get(name), isDefault: !this.given.has(name) }
    const parsed = flag.type.parse(text, earlier)
    if (!parsed.ok)
      throw new FlagProblem(`invalid argument ${shownValue(text)} for "--${name}" flag: ${shortened(parsed.problem)}`)
    this.values.set(name, parsed.value)
    if (flag.deprecated !== undefined && !this.given.has(name))
      this.warnings.push(`Flag --${name} has been deprecated, ${flag.deprecated}`)
    this.given.add(name)
  }

  #unknown(name: string): string {
    const elsewhere = this.#table[name]?.platform
    if (elsewhere !== undefined)
      return `unknown flag: --${name} exists on ${elsewhere} only: remove it on ${this.#platform}`
    const nearest = nearestName(name, this.#flags.keys())
    return `unknown flag: --${name}${nearest === undefined ? ' (see --help for the known ones)' : `, did you mean --${nearest}?`}`
  }
}
