/** Every alert of deploy/prometheus/rules.yaml fires when it should, and not when all is well, as promtool sees it. */
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { alertCases, allAbove } from './alert-cases.ts'
import type { Series } from './alert-cases.ts'

const rulesFile = fileURLToPath(new URL('../../deploy/prometheus/rules.yaml', import.meta.url))
const runbooks = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8')

interface Alert {
  readonly alert: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string }
}

const { groups } = parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: (Alert | { record: string })[] }[] }
const alerts = groups.flatMap(({ rules }) => rules).filter((rule): rule is Alert => 'alert' in rule)

test('every alert has a case', () => {
  expect(Object.keys(alertCases)).toEqual(alerts.map(({ alert }) => alert))
})

test.each(alerts)('$alert has a severity, two sentences, and a runbook', ({ alert, labels, annotations }) => {
  expect(['critical', 'warning', 'info']).toContain(labels.severity)
  for (const text of [annotations.summary, annotations.description]) expect(text).toMatch(/\S.*\.$/)
  const anchor = alert.toLowerCase()
  expect(annotations.runbook_url).toBe(
    `https://github.com/fairlead/fairlead/blob/main/docs/troubleshooting.md#${anchor}`,
  )
  expect(runbooks).toContain(`\n### ${alert}\n`)
})

const whyNoPromtool =
  spawnSync('promtool', ['--version'], { stdio: 'ignore' }).status === 0
    ? undefined
    : 'no promtool found; install prometheus'
const skipped = whyNoPromtool === undefined ? '' : ` (skipped: ${whyNoPromtool})`

describe.skipIf(whyNoPromtool !== undefined)(`promtool${skipped}`, () => {
  test('finds nothing wrong with the rules', async () => {
    const { stdout } = await promisify(execFile)('promtool', ['check', 'rules', '--lint-fatal', rulesFile])
    expect(stdout).toContain('SUCCESS')
  })

  test.each(Object.entries(alertCases))('%s fires when it should, and only then', async (alert, { fires, isQuiet }) => {
    const firing = `count(ALERTS{alertname="${alert}",alertstate="firing"})`
    const oneAlert = [{ labels: '{}', value: 1 }]
    const minutes = Array.from({ length: 31 }, (_, index) => `${index * 2}m`)
    const output = await promtoolTest([
      givenSeries(fires, [{ expr: firing, eval_time: '60m', exp_samples: oneAlert }]),
      givenSeries(
        isQuiet,
        minutes.map((eval_time) => ({ expr: firing, eval_time, exp_samples: [] })),
      ),
    ])
    expect(output).toContain('SUCCESS')
  })

  test('an alert says in whole sentences what is wrong where', async () => {
    const { series, ...expected } = slowRemoval
    const output = await promtoolTest([
      {
        ...givenSeries(series, []),
        alert_rule_test: [{ eval_time: '60m', alertname: 'FairleadRemovalIsSlow', exp_alerts: [expected] }],
      },
    ])
    expect(output).toContain('SUCCESS')
  })
})

const slowRemoval = {
  series: allAbove('fairlead_endpoint_removal_seconds', '20', '30'),
  exp_labels: { job: 'kube-system/fairlead', instance: 'node1', ip_family: 'IPv4', severity: 'warning' },
  exp_annotations: {
    summary: 'On node1 pods that end get new connections for too long.',
    description:
      'One removal in a hundred takes 29.9s or longer (IPv4). Pods with a shorter preStop delay lose connections.',
    runbook_url: 'https://github.com/fairlead/fairlead/blob/main/docs/troubleshooting.md#fairleadremovalisslow',
  },
}

function givenSeries(series: Series, promql_expr_test: readonly unknown[]) {
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }))
  return { interval: '1m', input_series, promql_expr_test }
}

/** What it prints, also when it is not content. */
async function promtoolTest(tests: readonly unknown[]): Promise<string> {
  await using folder = await TemporaryFolder.make()
  const file = await folder.write('test.yaml', stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }))
  const { stdout, stderr } = await promisify(execFile)('promtool', ['test', 'rules', file]).catch(
    (error: Error & { stdout: string; stderr: string }) => error,
  )
  return stdout + stderr
}
