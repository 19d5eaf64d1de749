import { testScenarios } from '../../packet/testing/test-flows.ts'
import { fairleadIpvs } from './testing/ipvs-proxies.ts'
import { ipvsScenarios } from './testing/ipvs-scenarios.ts'

testScenarios(fairleadIpvs, ipvsScenarios)
