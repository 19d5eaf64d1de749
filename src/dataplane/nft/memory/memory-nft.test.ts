import { families } from '../../../net/ip.ts'
import { MemoryNftTable } from './memory-nft.ts'
import { nftContract } from '../nft.contract.ts'

for (const family of families) nftContract('MemoryNftTable', family, async () => new MemoryNftTable())
