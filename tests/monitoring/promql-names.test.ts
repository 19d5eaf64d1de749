import { expect, test } from 'vitest'
import { promqlNames } from './promql-names.ts'

test.each([
  ['up', ['up'], []],
  ['time() - last_seconds > 300', ['last_seconds'], []],
  ['sum by (job, le) (rate(a_bucket{code=~"5.. or by (x)",job="y"}[5m]))', ['a_bucket{code,job}'], ['job', 'le']],
  ['max(a:b:rate5m) without (pod)', ['a:b:rate5m'], ['pod']],
  ['a / on (instance) group_left b{x!="}"} offset 5m', ['a', 'b{x}'], ['instance']],
  ['topk(10, a) or vector(0) # not_a_metric\nand b > bool 1e3', ['a', 'b'], []],
  ['histogram_quantile(0.99, sum by (le) (rate(h_bucket[$__rate_interval])))', ['h_bucket'], ['le']],
])('the names in %s', (expression, metrics, groupedBy) => {
  const names = promqlNames(expression)
  const shown = names.metrics.map(({ name, labels }) => (labels.length === 0 ? name : `${name}{${labels.join()}}`))
  expect([shown, names.groupedBy]).toEqual([metrics, groupedBy])
})
