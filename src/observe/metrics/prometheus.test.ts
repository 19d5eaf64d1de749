import { expect, test } from 'vitest'
import { MetricRegistry } from './prometheus.ts'

test.each([-1, Number.NaN, Infinity])(
  'a counter refuses %s where it is written, and the scrape goes on',
  async (by) => {
    const registry = new MetricRegistry()
    const counter = registry.counter({ name: 'things_total', help: 'Things.', labels: [] })
    counter.increment({}, 2)
    expect(() => counter.increment({}, by)).toThrow(`things_total: cannot be incremented by ${by}`)
    expect(await registry.render()).toContain('\nthings_total 2\n')
  },
)

test.each([Number.NaN, Infinity])('a histogram refuses %s where it is written, and keeps its sum', async (value) => {
  const registry = new MetricRegistry()
  const histogram = registry.histogram({ name: 'took_seconds', help: 'Time.', labels: [] }, [1])
  histogram.observe({}, 0.5)
  expect(() => histogram.observe({}, value)).toThrow(`took_seconds: cannot observe ${value}`)
  expect(await registry.render()).toMatch(/\ntook_seconds_sum 0\.5\ntook_seconds_count 1\n/)
})
