import { expect, test } from 'vitest'
import { MemoryNftTable } from '../../dataplane/nft/memory/memory-nft.ts'
import { writeChain } from './chain-operations.ts'
import { deleteUnusedChains } from './unused-chains.ts'

const { signal } = new AbortController()

test('one that is gone already does not keep the others, whichever leads to which', async () => {
  const table = new MemoryNftTable()
  const pick = { name: 'pick-2', comment: '', rules: [] }
  const external = {
    name: 'external-2',
    comment: '',
    rules: [{ statements: [{ kind: 'goto', chain: 'pick-2' } as const] }],
  }
  await table.commit([{ do: 'add table', comment: '' }, ...writeChain(pick), ...writeChain(external)], signal)
  expect(await deleteUnusedChains(table, ['pick-1', 'pick-2', 'external-2'], () => {}, signal)).toEqual([])
  expect((await table.list(signal))?.chains).toEqual([])
})
