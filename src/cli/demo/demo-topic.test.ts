import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { Viewer } from '../../observe/console/live-topic.ts'
import type { DemoState } from '../../observe/console/wire.ts'
import { DemoTopic } from './demo-topic.ts'

class SlowViewer implements Viewer {
  isBehind = false
  readonly heard: string[] = []

  send(_event: string, data: unknown): void {
    this.heard.push((data as DemoState).kubeconfig)
  }

  sendText(_event: string, json: string): void {
    this.send('', JSON.parse(json))
  }
}

function topicWith(clock: FakeClock) {
  const what = { kubeconfig: 'one', asking: 0 }
  const traffic = {
    run: (signal: AbortSignal) => {
      what.asking++
      signal.addEventListener('abort', () => what.asking--)
      return Promise.resolve()
    },
  }
  const topic = new DemoTopic({ state: () => what as unknown as DemoState, traffic, clock })
  return { topic, what }
}

test('clients ask while somebody looks, once for all who do, and no timer runs when nobody does', async () => {
  const clock = new FakeClock()
  const { topic, what } = topicWith(clock)
  const [one, two] = [topic.follow([], new SlowViewer()), topic.follow([], new SlowViewer())]
  expect(what.asking).toBe(1)
  one[Symbol.dispose]()
  expect(what.asking).toBe(1)
  two[Symbol.dispose]()
  expect(what.asking).toBe(0)
  await clock.advance(10_000)
  expect(clock.sleeping).toBe(0)
  using _again = topic.follow([], new SlowViewer())
  expect(what.asking).toBe(1)
})

test('a viewer gets what is now, then what changes, and one that is behind only the last of it', async () => {
  const clock = new FakeClock()
  const { topic, what } = topicWith(clock)
  const [quick, slow] = [new SlowViewer(), new SlowViewer()]
  using _one = topic.follow([], quick)
  using _two = topic.follow([], slow)
  slow.isBehind = true
  for (const state of ['two', 'three']) {
    what.kubeconfig = state
    topic.changed()
    await clock.advance(1_000)
  }
  slow.isBehind = false
  await clock.advance(1_000)
  expect(quick.heard).toEqual(['one', 'two', 'three'])
  expect(slow.heard).toEqual(['one', 'three'])
})
