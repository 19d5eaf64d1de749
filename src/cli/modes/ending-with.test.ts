import { expect, test } from 'vitest'
import type { Backend } from '../../core/backend.ts'
import { endingWith } from './ending-with.ts'

test('what was lent is given back also where the backend does not end as it should', async () => {
  const given: string[] = []
  const backend: Backend = {
    name: 'nftables',
    sync: () => Promise.reject(new Error('nobody syncs')),
    [Symbol.asyncDispose]: () => Promise.reject(new Error('it does not end')),
  }
  const ending = endingWith(backend, { [Symbol.asyncDispose]: async () => void given.push('the balancer') })
  await expect(ending[Symbol.asyncDispose]()).rejects.toThrow('it does not end')
  expect(given).toEqual(['the balancer'])
})
