import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { readListItems } from './list-items.ts'

async function read(bytes: Buffer, chunkSize = bytes.length): Promise<{ items: unknown[]; rest: unknown }> {
  const items: unknown[] = []
  const rest = await readListItems(chunksOf(bytes, chunkSize), 'GET /things', (item) => items.push(item))
  return { items, rest }
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

test('the items arrive one by one, and the rest of the list at its end', async () => {
  const list = { kind: 'ThingList', metadata: { resourceVersion: '7' }, items: [{ a: 1 }, { b: [2, { items: [3] }] }] }
  expect(await read(Buffer.from(JSON.stringify(list)))).toEqual({ items: list.items, rest: { ...list, items: [] } })
})

test('a list reads the same wherever the network cuts it', async () => {
  const list = { items: [{ text: 'ä 🚢 " \\ ] } , [ {' }, { text: '"items":[' }], metadata: { continue: 'x]' } }
  const bytes = Buffer.from(JSON.stringify(list, undefined, 2))
  for (let size = 1; size <= bytes.length; size++)
    expect(await read(bytes, size)).toEqual({ items: list.items, rest: { ...list, items: [] } })
})

test('any list is taken apart as JSON.parse would see it', async () => {
  const lists = fc.record({ items: fc.array(fc.jsonValue()), metadata: fc.jsonValue(), other: fc.jsonValue() })
  await fc.assert(
    fc.asyncProperty(lists, fc.integer({ min: 1, max: 64 }), async (list, chunkSize) => {
      const text = JSON.stringify(list)
      const { items } = JSON.parse(text) as { items: unknown[] }
      expect(await read(Buffer.from(text), chunkSize)).toEqual({ items, rest: { ...JSON.parse(text), items: [] } })
    }),
  )
})

test('an empty list may be null, as Go writes it', async () => {
  expect(await read(Buffer.from('{"items":null}'))).toEqual({ items: [], rest: { items: null } })
})

test('a key that only ends like items is another key', async () => {
  const answer = { 'a"items': [1], items2: [2], kind: 'items', xitems: [3] }
  expect(await read(Buffer.from(JSON.stringify(answer)))).toEqual({ items: [], rest: answer })
})

for (const [what, repeated] of [
  ['lists beside the items', (index: number) => `"k${index}":[]`],
  ['names that resemble the one of the items', () => '"items" :"items"'],
  ['lists of items', () => '"items":[]'],
] as const)
  test(`an answer with many ${what} costs as much as it is long`, async () => {
    const costOf = async (count: number) => {
      const text = `{${Array.from({ length: count }, (_, index) => repeated(index)).join(',')}}`
      return { bytes: text.length, touched: await bytesJoined(() => read(Buffer.from(text), 512)) }
    }
    const small = await costOf(1000)
    const large = await costOf(8000)
    expect(large.touched / small.touched).toBeLessThan((1.5 * large.bytes) / small.bytes)
  })

/** Counts the bytes that are copied together: the part of the work that could grow faster than the answer. */
async function bytesJoined(work: () => Promise<unknown>): Promise<number> {
  const concat = vi.spyOn(Buffer, 'concat')
  try {
    await work()
    return concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0)
  } finally {
    concat.mockRestore()
  }
}

test('items somewhere else in the answer are not the items of the list', async () => {
  const answer = { metadata: { items: [1] }, others: [2] }
  expect(await read(Buffer.from(JSON.stringify(answer)))).toEqual({ items: [], rest: answer })
})

for (const [what, text] of [
  ['that breaks off within an item', '{"items":[{"a":1},{"b":'],
  ['that breaks off after an item', '{"items":[{"a":1},'],
  ['that is no JSON', '<html>'],
  ['with an item that is no JSON', '{"items":[{"a":1},{b}]}'],
] as const)
  test(`an answer ${what} is a protocol error`, async () => {
    await expect(read(Buffer.from(text))).rejects.toMatchObject({ name: 'KubeError', reason: 'protocol' })
  })
