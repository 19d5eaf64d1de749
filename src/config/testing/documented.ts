import { type Flag, flagsOn } from '../flags/flag.ts'
import { daemonFlags } from '../daemon/daemon-flags.ts'
import type { Fields, ObjectSchema, Schema } from '../file/schema.ts'
import { kubeProxyConfiguration } from '../file/v1alpha1.ts'

/** The rows for the flags in docs/configuration.md, group by group. */
export function flagTables(): string {
  const flags = flagsOn(daemonFlags, 'win32')
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
