import { expect, test } from 'vitest'
import type { Backend } from '../../core/backend.ts'
import { gated, SyncGate } from './sync-gate.ts'

const never = new AbortController().signal

test('a backend hears when others may write, and when it may again, before its next sync', async () => {
  const heard: string[] = []
  const gate = new SyncGate()
  const backend: Backend = {
    name: 'listening',
    sync: async () => {
      heard.push('sync')
      return { facts: {}, failed: [] }
    },
    stepAside: () => heard.push('step aside'),
    reclaim: () => heard.push('reclaim'),
    [Symbol.asyncDispose]: async () => {},
  }
  const behind = gated(backend, gate)
  await gate.close()
  const sync = behind.sync({} as never, {} as never, never)
  expect(heard).toEqual(['step aside'])
  gate.open()
  await sync
  expect(heard).toEqual(['step aside', 'reclaim', 'sync'])
})
