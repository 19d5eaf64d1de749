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

test('labels that are written again mean the same, those of an object that changed do not, and a reset forgets all', async () => {
  const registry = new MetricRegistry()
  const counter = registry.counter({ name: 'seen_total', labels: ['who'], help: 'Seen.' })
  const [frozen, changing] = [Object.freeze({ who: 'a' }), { who: 'a' }]
  for (const labels of [frozen, frozen, changing]) counter.increment(labels)
  changing.who = 'b'
  counter.increment(changing)
  expect(seriesIn(await registry.render())).toEqual(['seen_total{who="a"} 3', 'seen_total{who="b"} 1'])
  registry.reset()
  counter.increment(frozen)
  expect(seriesIn(await registry.render())).toEqual(['seen_total{who="a"} 1'])
})

function seriesIn(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}
