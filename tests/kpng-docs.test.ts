import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KpngServerSeries } from '../src/observe/metrics/kpng-metrics.ts'
import { MetricRegistry } from '../src/observe/metrics/prometheus.ts'

test('docs/kpng.md lists every metric of a core, and no other', () => {
  const registry = new MetricRegistry()
  void new KpngServerSeries(registry)
  const page = readFileSync(new URL('../docs/kpng.md', import.meta.url), 'utf8')
  expect(new Set(page.match(/fairlead_kpng_\w+/g))).toEqual(new Set(registry.familyNames))
})
