/** Every PromQL expression in deploy/, and which labels its texts name. */
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'

export interface Expression {
  /** For people: where it is. */
  readonly where: string
  readonly promql: string
  /** `{{instance}}` in a legend, `{{ $labels.instance }}` in an alert. */
  readonly shownLabels: readonly string[]
}

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[]
}

export interface Dashboard {
  readonly file: string
  readonly id: unknown
  readonly uid: string
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[]
  }
  readonly panels: readonly (Panel & { readonly datasource?: unknown; readonly type: string })[]
  readonly text: string
}

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly annotations?: Readonly<Record<string, string>>
}

const deploy = new URL('../../deploy/', import.meta.url)

export const dashboards: readonly Dashboard[] = readdirSync(new URL('grafana', deploy))
  .filter((file) => file.endsWith('.json'))
  .map((file) => {
    const text = readFileSync(new URL(`grafana/${file}`, deploy), 'utf8')
    return { ...(JSON.parse(text) as Dashboard), file, text }
  })

export const rules: readonly Rule[] = (
  parse(readFileSync(new URL('prometheus/rules.yaml', deploy), 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules)

export const ofDashboards: readonly Expression[] = dashboards.flatMap(({ file, panels, templating }) => [
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat = '' }) => ({
      where: `${file}, ${title}`,
      promql: expr,
      shownLabels: [...legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label = '']) => label),
    })),
  ),
  // label_values(METRIC, LABEL)
  ...templating.list.flatMap(({ name, definition }) => {
    const [, promql, label] = /^label_values\((.*), (\w+)\)$/.exec(definition ?? '') ?? []
    return promql === undefined || label === undefined
      ? []
      : [{ where: `${file}, variable ${name}`, promql, shownLabels: [label] }]
  }),
])

export const ofRules: readonly Expression[] = rules.map(({ alert, record, expr, annotations = {} }) => ({
  where: `rules.yaml, ${alert ?? record}`,
  promql: expr,
  shownLabels: [
    ...Object.values(annotations)
      .join(' ')
      .matchAll(/\$labels\.(\w+)/g),
  ].map(([, label = '']) => label),
}))
