import { expect, test } from 'vitest'
import { lend } from './lend.ts'

function lender(failures = 0) {
  const events: string[] = []
  let left = failures
  const borrow = lend(async (name: string) => {
    events.push(`open ${name}`)
    if (left-- > 0) throw new Error('it does not open')
    return { name, [Symbol.asyncDispose]: async () => void events.push(`close ${name}`) }
  })
  return { borrow, events }
}

test('it is opened for the first and closed with the last, however often one of them gives it back', async () => {
  const { borrow, events } = lender()
  const [first, second] = await Promise.all([borrow('a'), borrow('b')])
  expect(second.it).toBe(first.it)
  await first[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
  expect(events).toEqual(['open a'])
  await second[Symbol.asyncDispose]()
  expect(events).toEqual(['open a', 'close a'])
})

test('who comes after the last gets a new one', async () => {
  const { borrow, events } = lender()
  await (await borrow('a'))[Symbol.asyncDispose]()
  await using again = await borrow('b')
  expect([again.it.name, events]).toEqual(['b', ['open a', 'close a', 'open b']])
})

test('who failed to open it neither keeps it open nor keeps others from trying', async () => {
  const { borrow, events } = lender(1)
  const failed = await Promise.allSettled([borrow('a'), borrow('b')])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await (await borrow('c'))[Symbol.asyncDispose]()
  expect(events).toEqual(['open a', 'open c', 'close c'])
})
