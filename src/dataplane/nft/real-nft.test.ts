import { describe } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { families } from '../../net/ip.ts'
import { processExec } from '../exec/exec.ts'
import { openDatagrams } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace } from '../netlink/testing/network-namespace.ts'
import { CommandNftTable } from './command/command-nft.ts'
import { NftTables } from './nft-tables.ts'
import { nftContract } from './nft.contract.ts'

const { signal } = new AbortController()

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  for (const family of families)
    nftContract('CommandNftTable', family, async () => {
      enterFreshNamespace()
      return new CommandNftTable({ family, exec: processExec, hasObjectComments: true })
    })
  for (const family of families)
    nftContract('NetlinkNftTable', family, async () => {
      enterFreshNamespace()
      return new NftTables({ exec: processExec, openDatagrams }).open(family, silentLogger, signal)
    })
})
