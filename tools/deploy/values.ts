/** The values of the chart, as its values.yaml documents them: a comment above each. */
import { isMap, isScalar, parseDocument } from 'yaml'
import type { Node, Pair, YAMLMap } from 'yaml'

export interface DocumentedValue {
  /** Such as `image.tag`. */
  readonly path: string
  /** Empty, if nobody wrote one. */
  readonly meaning: string
  readonly defaultValue: unknown
}

/** Leaves only: a map that has entries is a group of values, an empty one is a value. */
export function documentedValues(text: string): readonly DocumentedValue[] {
  const { contents } = parseDocument(text)
  if (!isMap<Node, Node | null>(contents)) throw new Error('values.yaml is no map')
  // The parser hands the comment before the first entry to the map.
  return entriesOf(contents, '', contents.commentBefore ?? '')
}

/** Values that operators replace as a whole. */
const whole = new Set(['resources'])

function entriesOf(map: YAMLMap<Node, Node | null>, prefix: string, firstComment: string): readonly DocumentedValue[] {
  return map.items.flatMap(({ key, value }: Pair<Node, Node | null>, index) => {
    if (!isScalar(key)) throw new Error('a key of values.yaml is no text')
    const path = `${prefix}${String(key.value)}`
    if (isMap<Node, Node | null>(value) && value.items.length > 0 && !whole.has(path))
      return entriesOf(value, `${path}.`, value.commentBefore ?? '')
    const comment = key.commentBefore ?? (index === 0 ? firstComment : '')
    return [{ path, meaning: comment.trim().replaceAll(/\s+/g, ' '), defaultValue: value?.toJSON() as unknown }]
  })
}

export function valuesTable(values: readonly DocumentedValue[]): string {
  const rows = values.map(({ path, meaning, defaultValue }) => {
    const shown = defaultValue === '' ? '' : `\`${JSON.stringify(defaultValue).replaceAll(/^"|"$/g, '')}\``
    return `| \`${path}\` | ${shown} | ${meaning.replaceAll('|', String.raw`\|`)} |`
  })
  return ['| Value | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n')
}
