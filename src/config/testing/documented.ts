import type { Flag } from '../flags/flag.ts'
import { daemonFlags } from '../daemon/daemon-flags.ts'
import type { Fields, ObjectSchema, Schema } from '../file/schema.ts'
import { fairleadConfiguration } from '../file/fairlead-v1alpha1.ts'
import { kubeProxyConfiguration } from '../file/v1alpha1.ts'
import { howFieldsChange } from '../live/how-fields-change.ts'
import type { FieldEntry } from '../live/how-fields-change.ts'

/** The rows for the flags in docs/configuration.md, group by group. */
export function flagTables(): string {
  const flags: readonly (readonly [string, Flag<unknown>])[] = Object.entries(daemonFlags)
  return [...new Set(flags.map(([, flag]) => flag.group))]
    .map((group) => {
      const rows = flags.filter(([, flag]) => flag.group === group).map(([name, flag]) => flagRow(name, flag))
      return `### ${group}\n\n| Flag | Type | Default | Field of the file | What it does |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}`
    })
    .join('\n\n')
}

/** The path of every field that holds a value. */
export function fieldPaths(): string[] {
  return pathsIn(kubeProxyConfiguration.fields, '')
}

/** Those of the second document. */
export function fairleadFieldPaths(): string[] {
  return pathsIn(fairleadConfiguration.fields, '')
}

/** What the column "Live" of docs/configuration.md says about each field. */
export function liveCells(): ReadonlyMap<string, string> {
  const cells = new Map<string, string>(
    entriesIn(howFieldsChange).flatMap(({ names, how }) =>
      names.map((name) => [name, how.kind === 'live' ? 'yes' : 'restart'] as const),
    ),
  )
  const held = Object.entries(howFieldsChange.featureGates.gates).filter(([, { kind }]) => kind === 'restart')
  return cells.set('featureGates', `yes, but not ${held.map(([name]) => `\`${name}\``).join(', ')}`)
}

function entriesIn(section: object): readonly FieldEntry[] {
  if ('names' in section) return [section as FieldEntry]
  if ('gates' in section) return []
  return Object.values(section).flatMap((entry: object) => entriesIn(entry))
}

function flagRow(name: string, flag: Flag<unknown>): string {
  const short = flag.short === undefined ? '' : `\`-${flag.short}\`, `
  const shown = flag.type.render(flag.default)
  const help = flag.deprecated === undefined ? flag.help : `**Deprecated:** ${flag.deprecated} ${flag.help}`
  const cells = [
    `${short}\`--${name}\``,
    flag.type.label === '' ? 'bool' : flag.type.label,
    shown === '' || shown === '[]' ? '' : `\`${shown}\``,
    flag.configField === undefined
      ? ''
      : `\`${flag.configField}\`${{ kept: ' (flag wins)', merged: ' (joined)', ignored: '' }[flag.withConfigFile ?? 'ignored']}`,
    help,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`.replaceAll(/ {2,}/g, ' ')
}

function pathsIn(fields: Fields, prefix: string): string[] {
  return Object.entries(fields).flatMap(([name, schema]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    return isObject(schema) ? pathsIn(schema.fields, path) : [path]
  })
}

function isObject(schema: Schema<unknown>): schema is ObjectSchema<unknown> {
  return 'fields' in schema
}
