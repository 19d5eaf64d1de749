import { expect, test } from 'vitest'
import { OneAtATime } from './one-at-a-time.ts'

test('work begins when all before it has ended, well or not, and everybody gets the outcome of his own', async () => {
  const queue = new OneAtATime()
  const did: string[] = []
  const work =
    (name: string, fails = false) =>
    async () => {
      did.push(`${name} begins`)
      await Promise.resolve()
      did.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const all = [queue.run(work('a')), queue.run(work('b', true)), queue.run(work('c'))]
  expect(await Promise.allSettled(all)).toMatchObject([{ value: 'a' }, { reason: { message: 'b' } }, { value: 'c' }])
  expect(did).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})
