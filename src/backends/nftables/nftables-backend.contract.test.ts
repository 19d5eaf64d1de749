import { families } from '../../net/ip.ts'
import { backendContract } from '../backend.contract.ts'
import { nftablesSite } from './testing/nftables-site.ts'

for (const family of families) backendContract(nftablesSite(family))
