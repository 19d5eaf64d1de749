import { families } from '../../net/ip.ts'
import { backendContract } from '../backend.contract.ts'
import { iptablesSite } from './testing/iptables-site.ts'

for (const family of families) backendContract(iptablesSite(family))
