/** Flags of KPNG's backends, for command lines that were written for them. */

/** KPNG's name, then Fairlead's, of flags that mean the same. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['cluster-cidrs', 'cluster-cidr'],
  ['scheduling-method', 'ipvs-scheduler'],
])

/** Flags that tune how KPNG lays out its rules, and whether a value follows. */
const withoutEffect: ReadonlyMap<string, 'alone' | 'value'> = new Map([
  ['skip-comments', 'alone'],
  ['force-nft-hash-workaround', 'alone'],
  ['trace', 'alone'],
  ['hook-priority', 'value'],
  ['split-bits', 'value'],
  ['split-bits6', 'value'],
  ['maps-count', 'value'],
  ['weight', 'value'],
])

export interface TranslatedFlags {
  readonly argv: readonly string[]
  /** Names of flags that were left out. */
  readonly ignored: readonly string[]
}

export function translateModeFlags(argv: readonly string[]): TranslatedFlags {
  const kept: string[] = []
  const ignored: string[] = []
  const rest = [...argv]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = '', inline = ''] = /^--([^=]+)(=.*)?$/s.exec(argument) ?? []
    const takes = withoutEffect.get(name)
    const other = renamed.get(name)
    if (takes !== undefined) {
      ignored.push(name)
      if (takes === 'value' && inline === '') rest.shift()
    } else kept.push(other === undefined ? argument : `--${other}${inline}`)
  }
  return { argv: kept, ignored }
}
