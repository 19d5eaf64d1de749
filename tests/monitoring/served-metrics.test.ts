/** What the dashboards and rules of deploy/ name is what real processes serve, and a real Prometheus makes something of it. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { get } from '../e2e/testing/clients.ts'
import { dashboards, ofDashboards, ofRules, rules } from './expressions.ts'
import type { Expression } from './expressions.ts'
import { MonitoredSite } from './monitored-site.ts'
import { PrometheusProcess, whyNoPrometheus } from './prometheus-process.ts'
import { promqlNames } from './promql-names.ts'

/** Documented, but not to be seen in a userspace daemon to which nothing bad happens. */
const servedElsewhere: Readonly<Record<string, string>> = {
  kubeproxy_sync_full_proxy_rules_duration_seconds: 'modes iptables and nftables',
  kubeproxy_sync_partial_proxy_rules_duration_seconds: 'modes iptables and nftables',
  fairlead_object_problems_total: 'appears when an object is ignored',
  fairlead_kpng_clients_refused_total: 'appears when a core refuses a client',
}

/** Those that Prometheus adds to every series. */
const addedLabels = ['job', 'instance']

let site: MonitoredSite

beforeAll(async () => {
  site = await MonitoredSite.start()
})

afterAll(async () => {
  await site?.[Symbol.asyncDispose]()
})

test('every metric and label that they name is served', async () => {
  const labelsByMetric = new Map([...documentedLabels(Object.keys(servedElsewhere)), ...(await servedLabels())])
  labelsByMetric.set('up', new Set())
  for (const { record, expr } of rules)
    if (record !== undefined) labelsByMetric.set(record, new Set(promqlNames(expr).groupedBy))
  const problems = [...ofDashboards, ...ofRules].flatMap((expression) => problemsOf(expression, labelsByMetric))
  expect(problems).toEqual([])
  expect(ofDashboards.length).toBeGreaterThan(60)
})

test('what is said to be served elsewhere is not served here, and is named somewhere', async () => {
  const served = await servedLabels()
  const named = new Set([...ofDashboards, ...ofRules].flatMap(({ promql }) => metricsOf(promql)))
  const metrics = Object.keys(servedElsewhere)
  expect(metrics.filter((metric) => served.has(metric))).toEqual([])
  expect(metrics.filter((metric) => !named.has(metric))).toEqual([])
})

test.each(dashboards)('$file can be imported anywhere: it asks for its data source, and has no id', (dashboard) => {
  expect(dashboard.id).toBeNull()
  expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' })
  const sources = [...dashboard.text.matchAll(/"uid": "([^"]*)"/g)].map(([, uid]) => uid)
  expect(new Set(sources)).toEqual(new Set([dashboard.uid, '${datasource}']))
  const drawn = dashboard.panels.filter(({ type }) => type !== 'row')
  for (const { datasource } of drawn) expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' })
  const variables = [...dashboard.text.matchAll(/\$(?:\{(\w+)[:}]|(\w+))/g)].map(([, braced, bare]) => braced ?? bare)
  const known = [...dashboard.templating.list.map(({ name }) => name), '__rate_interval', '__value']
  expect(variables.filter((name) => !known.includes(name ?? ''))).toEqual([])
})

const skipped = whyNoPrometheus === undefined ? '' : ` (skipped: ${whyNoPrometheus})`

describe.skipIf(whyNoPrometheus !== undefined)(`Prometheus${skipped}`, () => {
  let prometheus: PrometheusProcess

  beforeAll(async () => {
    prometheus = await PrometheusProcess.start(site.targets)
    // A rate needs two scrapes, and something has to happen in between.
    await prometheus.scrapesAll(site.targets.length)
    await site.work()
    await prometheus.scrapesAll(site.targets.length)
  })

  afterAll(async () => {
    await prometheus?.[Symbol.asyncDispose]()
  })

  test('has something to draw in every panel', async () => {
    const empty: string[] = []
    for (const { where, promql } of ofDashboards) {
      const answer = await prometheus.ask(filledIn(promql))
      // A condition may hold nowhere.
      const mayBeEmpty = / (?:>|==) /.test(promql) || metricsOf(promql).some((name) => name in servedElsewhere)
      if (answer.length === 0 && !mayBeEmpty) empty.push(`${where}: ${promql}`)
    }
    expect(empty).toEqual([])
  })

  test('understands every rule, and records what should be recorded', async () => {
    const empty: string[] = []
    for (const { record, expr } of rules) {
      const answer = await prometheus.ask(expr)
      if (record !== undefined && answer.length === 0) empty.push(record)
    }
    expect(empty).toEqual([])
  })
})

function problemsOf({ where, promql, shownLabels }: Expression, labelsByMetric: ReadonlyMap<string, Set<string>>) {
  const { metrics, groupedBy } = promqlNames(promql)
  const problems: string[] = []
  const inAll = new Set(addedLabels)
  for (const { name, labels } of metrics) {
    const known = labelsByMetric.get(familyOf(name, labelsByMetric))
    if (known === undefined) {
      problems.push(`${where}: nobody serves ${name}`)
      continue
    }
    const hasLabel = (label: string) => known.has(label) || addedLabels.includes(label)
    problems.push(...labels.filter((label) => !hasLabel(label)).map((label) => `${where}: ${name} has no ${label}`))
    for (const label of known) inAll.add(label)
    if (name.endsWith('_bucket')) inAll.add('le')
  }
  const grouped = groupedBy.filter((label) => !inAll.has(label)).map((label) => `${where}: nothing has ${label}`)
  const remaining = groupedBy.length === 0 ? inAll : new Set(groupedBy)
  const shown = shownLabels.filter((label) => !remaining.has(label)).map((label) => `${where}: shows no ${label}`)
  return [...problems, ...grouped, ...shown]
}

function metricsOf(promql: string): readonly string[] {
  return promqlNames(promql).metrics.map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, ''))
}

/** Of `x_seconds_bucket` it is `x_seconds`. */
function familyOf(name: string, labelsByMetric: ReadonlyMap<string, unknown>): string {
  return labelsByMetric.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')
}

/** Of all metrics that the processes of the site serve now. */
async function servedLabels(): Promise<Map<string, Set<string>>> {
  const labelsByMetric = new Map<string, Set<string>>()
  for (const address of site.targets) {
    const { body } = await get(`http://${address}/metrics`)
    const histograms = new Set([...body.matchAll(/^# TYPE (\S+) histogram$/gm)].map(([, name]) => name))
    for (const [, series = '', labels = ''] of body.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/gm)) {
      const family = series.replace(/_(?:bucket|sum|count)$/, '')
      const known = labelsByMetric.get(histograms.has(family) ? family : series) ?? new Set()
      for (const [, label = ''] of labels.matchAll(/(\w+)="(?:\\.|[^"\\])*"/g)) known.add(label)
      labelsByMetric.set(histograms.has(family) ? family : series, known)
    }
  }
  return labelsByMetric
}

/** From the tables of the pages. */
function documentedLabels(metrics: readonly string[]): Map<string, Set<string>> {
  const pages = ['observability', 'kpng'].map((page) =>
    readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'),
  )
  return new Map(
    metrics.map((metric) => {
      const row = new RegExp(`^\\| \`${metric}\` +\\| \\w+ +\\|([^|]*)\\|`, 'm').exec(pages.join('\n'))
      if (row === null) throw new Error(`${metric} is in no table of docs/observability.md or docs/kpng.md`)
      return [metric, new Set((row[1] ?? '').split(',').map((label) => label.trim()))]
    }),
  )
}

function filledIn(promql: string): string {
  return promql.replaceAll('$__rate_interval', '30s').replaceAll(/\$(?:job|instance)\b/g, '.*')
}
