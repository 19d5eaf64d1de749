/** Command-line flags are data: parsing, help and docs all read the same table. */

/** How the text of a flag becomes a value. The types are those of pflag, the flag library of Kubernetes. */
export interface FlagType<Value> {
  /** The placeholder for the value in the help text. */
  readonly label: string
  /** The value of the flag alone, without `=value`. Without it, the flag needs a value. */
  readonly alone?: string
  /** The only texts that it takes, where they can be counted. */
  readonly words?: readonly string[]
  parse(text: string, earlier: Earlier<Value>): Parsed<Value>
  render(value: Value): string
}

/** The value so far: the default at first use, after that the result of the previous use. */
interface Earlier<Value> {
  readonly value: Value
  readonly isDefault: boolean
}

export type Parsed<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly problem: string }

export interface FlagDeclaration<Value> {
  readonly type: FlagType<Value>
  readonly default: Value
  readonly help: string
  /** The one-letter form: `v` for `-v`. */
  readonly short?: string
  /** What to use instead. It is printed when the flag is used, and the flag is left out of the help. */
  readonly deprecated?: string
  /** The only platform that has this flag. */
  readonly platform?: NodeJS.Platform
  /** The same setting in the configuration file. */
  readonly configField?: string
  /** By default, a flag with a `configField` has no effect if a configuration file is given. */
  readonly withConfigFile?: 'kept' | 'merged'
}

export interface Flag<Value> extends FlagDeclaration<Value> {
  readonly group: string
}

export type FlagTable = Readonly<Record<string, Flag<unknown>>>

export type FlagValues<Table extends FlagTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer Value> ? Value : never
}

type Grouped<Declarations> = {
  readonly [Name in keyof Declarations]: Declarations[Name] extends { readonly type: FlagType<infer Value> }
    ? Flag<Value>
    : never
}

/** Puts flags under one heading of the help text. */
export function inGroup<Declarations extends Readonly<Record<string, FlagDeclaration<unknown>>>>(
  group: string,
  declarations: Declarations,
): Grouped<Declarations> {
  const flags = Object.entries(declarations).map(([name, declaration]) => [name, { ...declaration, group }] as const)
  return Object.fromEntries(flags) as Grouped<Declarations>
}

export function flagsOn(table: FlagTable, platform: NodeJS.Platform): [name: string, Flag<unknown>][] {
  return Object.entries(table).filter(([, flag]) => flag.platform === undefined || flag.platform === platform)
}
