import { families } from '../../net/ip.ts'
import { backendContract } from '../backend.contract.ts'
import { ebpfSite } from './testing/ebpf-site.ts'

for (const family of families) backendContract(ebpfSite(family))
