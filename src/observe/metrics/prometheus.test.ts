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

test('the same labels are the same series, and a reset forgets all', async () => {
  const registry = new MetricRegistry()
  const counter = registry.counter({ name: 'seen_total', labels: ['who'], help: 'Seen.' })
  const changing = { who: 'a' }
  for (const labels of [{ who: 'a' }, changing]) counter.increment(labels)
  changing.who = 'b'
  counter.increment(changing)
  expect(seriesIn(await registry.render())).toEqual(['seen_total{who="a"} 2', 'seen_total{who="b"} 1'])
  registry.reset()
  counter.increment({ who: 'a' })
  expect(seriesIn(await registry.render())).toEqual(['seen_total{who="a"} 1'])
})

test('a series that somebody keeps to write to is there once it is written, and again after a reset', async () => {
  const registry = new MetricRegistry()
  const spec = { labels: ['who'], help: 'Seen.' } as const
  const counted = registry.counter({ ...spec, name: 'seen_total' }).at({ who: 'a' })
  const gauge = registry.gauge({ ...spec, name: 'seen' }).at({ who: 'a' })
  const timed = registry.histogram({ ...spec, name: 'seen_seconds' }, [1]).at({ who: 'a' })
  expect(await registry.render()).toBe('')
  const write = () => {
    counted.increment()
    gauge.set(3)
    timed.observe(2)
  }
  const once = [
    'seen{who="a"} 3',
    'seen_seconds_bucket{who="a",le="1"} 0',
    'seen_seconds_bucket{who="a",le="+Inf"} 1',
    'seen_seconds_sum{who="a"} 2',
    'seen_seconds_count{who="a"} 1',
    'seen_total{who="a"} 1',
  ]
  write()
  expect(seriesIn(await registry.render()).toSorted()).toEqual(once.toSorted())
  registry.reset()
  expect(await registry.render()).toBe('')
  write()
  expect(seriesIn(await registry.render()).toSorted()).toEqual(once.toSorted())
})

function seriesIn(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}
