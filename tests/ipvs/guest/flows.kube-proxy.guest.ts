import { testScenarios } from '../../packet/testing/test-flows.ts'
import { kubeProxyIpvs } from './testing/ipvs-proxies.ts'
import { ipvsScenarios } from './testing/ipvs-scenarios.ts'

testScenarios(kubeProxyIpvs, ipvsScenarios)
