import { expect, test } from 'vitest'
import { ownChainFinder } from '../../dataplane/iptables/cleanup/own-chain.ts'
import { ownChains } from './leftovers.ts'
import { placedChains } from './portals/chains.ts'

test.each(placedChains)('the chain $chain in $table is one of its own', ({ table, chain }) => {
  expect(ownChainFinder(ownChains)(table, chain)).toBeDefined()
})
