import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ChangeLog } from './change-log.ts'
import { memoryStore, putThing, removeThing, thing, thingsIn } from '../testing/stored-objects.ts'

/** A disk that syncs when the test tells it to. */
class HeldLog implements ChangeLog {
  readonly batches: number[] = []
  readonly needsCompaction = false
  #release: ((error?: Error) => void)[] = []

  append(changes: readonly unknown[]): Promise<void> {
    this.batches.push(changes.length)
    return new Promise((resolve, reject) =>
      this.#release.push((error) => (error === undefined ? resolve() : reject(error))),
    )
  }

  async compact(): Promise<void> {}

  /** Waits until a batch is being written, then ends that. */
  async finish(error?: Error): Promise<void> {
    while (this.#release.length === 0) await new Promise((resolve) => setImmediate(resolve))
    this.#release.shift()?.(error)
  }
}

test('writes that come while another is synced share the next sync', async () => {
  const journal = new HeldLog()
  const store = memoryStore({ journal })
  const first = putThing(store, 'a')
  await Promise.resolve()
  const others = ['b', 'c', 'd'].map((name) => putThing(store, name))
  await journal.finish()
  await first
  await journal.finish()
  await Promise.all(others)
  expect(journal.batches).toEqual([1, 3])
})

test('nobody reads what is not yet durable, but the next write of the batch builds on it', async () => {
  const journal = new HeldLog()
  const store = memoryStore({ journal })
  const one = putThing(store, 'a', 1)
  const two = store.write((transaction) => {
    const seen = transaction.get('things', 'test', 'a')?.object['value']
    transaction.put('things', thing('a', Number(seen) + 1))
    return transaction.inNamespace('things', 'test').length
  })
  while (journal.batches.length === 0) await Promise.resolve()
  expect(store.list('things')).toEqual([])
  expect(store.revision).toBe(1)
  await journal.finish()
  await one
  expect(await two).toBe(1)
  expect(thingsIn(store.list('things'))).toEqual(['a=2'])
  expect(store.revision).toBe(3)
})

test('a write that throws leaves no trace and does not disturb its neighbours', async () => {
  const seen: string[] = []
  const observer = (_kind: string, before: unknown, after: unknown) =>
    void seen.push(before === undefined ? 'came' : after === undefined ? 'went' : 'changed')
  const store = memoryStore({ observer })
  const results = await Promise.allSettled([
    putThing(store, 'a'),
    store.write((transaction) => {
      transaction.put('things', thing('b'))
      transaction.put('things', thing('a', 'overwritten'))
      throw new Error('refused')
    }),
    putThing(store, 'c'),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(thingsIn(store.list('things'))).toEqual(['a=a', 'c=c'])
  expect(store.list('things').map(({ revision }) => revision)).toEqual([2, 3])
  expect(seen).toEqual(['came', 'came', 'changed', 'changed', 'went', 'came'])
})

test('a batch that cannot be kept is undone as a whole', async () => {
  const journal = new HeldLog()
  const counts = { things: 0 }
  const observer = (_kind: string, before: unknown, after: unknown) =>
    void (counts.things += Number(after !== undefined) - Number(before !== undefined))
  const store = memoryStore({ journal, observer })
  const writes = Promise.allSettled([putThing(store, 'a'), putThing(store, 'b')])
  await journal.finish(new Error('disk full'))
  expect((await writes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect([store.list('things'), store.revision, counts.things]).toEqual([[], 1, 0])
  const again = putThing(store, 'a')
  await journal.finish()
  expect((await again).revision).toBe(2)
})

test('a dry run sees its own result and leaves none', async () => {
  const store = memoryStore()
  const entry = await store.write((transaction) => {
    transaction.discard()
    return transaction.put('things', thing('a'))
  })
  expect(entry.name).toBe('a')
  expect([store.list('things'), store.revision]).toEqual([[], 1])
})

test('every earlier list can be read as it was, until it is forgotten', async () => {
  const command = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), isRemoval: fc.boolean(), value: fc.nat(9) })
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 30 }), fc.integer({ min: 1, max: 12 }), async (commands, size) => {
      const store = memoryStore({ historySize: size })
      const listsByRevision = new Map([[store.revision, thingsIn(store.list('things'))]])
      for (const { name, isRemoval, value } of commands) {
        if (!isRemoval) await putThing(store, name, value)
        else if (store.get('things', `test/${name}`) !== undefined) await removeThing(store, name)
        listsByRevision.set(store.revision, thingsIn(store.list('things')))
      }
      for (const [revision, list] of listsByRevision) {
        const isKept = revision >= store.revision - size
        const read = thingsIn(store.collection('things').listAt(revision, 'test'))
        expect(read).toEqual(isKept ? list : undefined)
      }
    }),
  )
})
