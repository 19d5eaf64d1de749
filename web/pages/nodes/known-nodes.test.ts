import { expect, test } from 'vitest'
import type { NodeRow } from '../../../src/observe/console/wire.ts'
import { countsOf, shownNodes, stateOf, withChange } from './known-nodes.ts'

const row = (node: string, more: Partial<NodeRow> = {}): NodeRow => ({
  key: node,
  node,
  peer: '10.0.0.1',
  connectedAt: '2026-01-01T00:00:00Z',
  lastContact: '2026-01-01T00:00:00Z',
  revision: 1,
  isConnected: true,
  ...more,
})
const names = (rows: readonly NodeRow[]) => rows.map(({ node }) => node)

test('changes are applied to what is known, and a first list replaces it', () => {
  const first = withChange(undefined, { isFirst: true, revision: 1, rows: [row('a'), row('b')] })
  const next = withChange(first, { revision: 2, rows: [row('b', { revision: 2 }), row('c')], gone: ['a'] })
  expect(next).toEqual({
    revision: 2,
    rows: new Map([
      ['b', row('b', { revision: 2 })],
      ['c', row('c')],
    ]),
  })
  expect([...withChange(next, { isFirst: true, revision: 3, rows: [row('d')] }).rows.keys()]).toEqual(['d'])
})

test('those that need a look come first', () => {
  const rows = [row('b'), row('a'), row('slow', { lagMs: 4_000 }), row('slower', { lagMs: 9_000 })]
  const away = row('away', { isConnected: false, lagMs: 1 })
  expect(names(shownNodes([...rows, away], ''))).toEqual(['away', 'slower', 'slow', 'a', 'b'])
  expect(countsOf([...rows, away])).toEqual({ connected: 4, behind: 2, gone: 1 })
})

test('a change that is on its way is no lag', () => {
  expect(
    [undefined, 100, 1_900, 2_000].map((lagMs) => stateOf(row('a', lagMs === undefined ? {} : { lagMs }))),
  ).toEqual(['up to date', 'up to date', 'up to date', 'behind'])
})

test('every word of a search has to be somewhere', () => {
  const rows = [
    row('node-1', { mode: 'nftables' }),
    row('node-2', { mode: 'ipvs' }),
    row('other', { peer: '10.9.9.9' }),
  ]
  expect(names(shownNodes(rows, 'NODE nft'))).toEqual(['node-1'])
  expect(names(shownNodes(rows, '9.9'))).toEqual(['other'])
})
