import { testFlows } from '../../packet/testing/test-flows.ts'
import { fairleadIpvs } from './testing/ipvs-proxies.ts'

testFlows(fairleadIpvs)
