import { expect, test } from 'vitest'
import { proxyChainReason } from '../../dataplane/iptables/cleanup/cleanup-names.ts'
import { placedChains } from '../../backends/userspace/portals/chains.ts'
import { modesOfLeftover } from './modes-of-leftover.ts'

test.each(placedChains)(
  'the chain $chain in $table is known, and belongs to the userspace mode',
  ({ table, chain }) => {
    const reason = proxyChainReason(table, chain)
    expect(reason).toBeDefined()
    const place = { tool: 'iptables-nft', table, chain, reason: reason ?? '' }
    expect(modesOfLeftover({ kind: 'iptables-chain', ...place, ruleCount: 0, isEmptiedOnly: false })).toEqual([
      'userspace',
    ])
  },
)
