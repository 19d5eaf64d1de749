import { describe } from 'vitest'
import { families } from '../../net/ip.ts'
import { processExec } from '../exec/exec.ts'
import { enterFreshNamespace, missingForNamespace } from '../netlink/testing/network-namespace.ts'
import { CommandNftTable } from './command-nft.ts'
import { nftContract } from './nft.contract.ts'

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  for (const family of families)
    nftContract('CommandNftTable', family, async () => {
      enterFreshNamespace()
      return new CommandNftTable({ family, exec: processExec, hasObjectComments: true })
    })
})
