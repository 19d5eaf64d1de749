/** The text of OpenMetrics 1.0, which has room for exemplars: https://prometheus.io/docs/specs/om/open_metrics_spec/ */
export const openMetricsContentType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

type LabelValues = Readonly<Record<string, string | number>>

export interface Sample {
  /** That of the family if it has no other. */
  readonly metricName?: string
  readonly labels: LabelValues
  readonly value: number
  readonly exemplar?: SampleExemplar | null | undefined
}

interface SampleExemplar {
  readonly labelSet: LabelValues
  readonly value: number
  /** Unix seconds. */
  readonly timestamp?: number | undefined
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Sample[]
}

/** Families without samples are left out. */
export function renderOpenMetrics(families: readonly Family[]): string {
  return `${families.map(renderFamily).join('')}# EOF\n`
}

function renderFamily({ name, help, type, values }: Family): string {
  if (values.length === 0) return ''
  // A counter's samples end in _total, and its family does not. What is called otherwise cannot be one.
  const isCounter = type === 'counter' && name.endsWith('_total')
  const family = isCounter ? name.slice(0, -'_total'.length) : name
  const known = type === 'counter' && !isCounter ? 'unknown' : type
  const samples = values.map((sample) => renderSample(sample, name)).join('')
  return `# HELP ${family} ${escaped(help)}\n# TYPE ${family} ${known}\n${samples}`
}

function renderSample({ metricName, labels, value, exemplar }: Sample, family: string): string {
  return `${metricName ?? family}${labelsText(labels)} ${numberText(value)}${exemplarText(exemplar)}\n`
}

function exemplarText(exemplar: Sample['exemplar']): string {
  if (exemplar === null || exemplar === undefined) return ''
  const { labelSet, value, timestamp } = exemplar
  const pairs = Object.entries(labelSet).map(pairText).join(',')
  return ` # {${pairs}} ${numberText(value)}${timestamp === undefined ? '' : ` ${timestamp}`}`
}

function labelsText(labels: LabelValues): string {
  const pairs = Object.entries(labels).map(pairText)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function pairText([name, value]: [string, string | number]): string {
  return `${name}="${escaped(String(value))}"`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}
