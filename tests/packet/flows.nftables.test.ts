import { fairleadNftables } from './testing/fairlead.ts'
import { testFlows } from './testing/test-flows.ts'

testFlows(fairleadNftables)
