import { expect, test } from 'vitest'
import { disposeAll } from './dispose-all.ts'

test('all are ended in order, and the first error is told', async () => {
  const ended: string[] = []
  const part = (name: string, fault?: string): AsyncDisposable => ({
    async [Symbol.asyncDispose]() {
      ended.push(name)
      if (fault !== undefined) throw new Error(fault)
    },
  })
  await disposeAll([part('a'), part('b')])
  await expect(disposeAll([part('c', 'first'), part('d', 'second'), part('e')])).rejects.toThrow('first')
  expect(ended).toEqual(['a', 'b', 'c', 'd', 'e'])
})
