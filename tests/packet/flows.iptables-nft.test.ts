import { fairleadIptables } from './testing/fairlead.ts'
import { testFlows } from './testing/test-flows.ts'

testFlows(fairleadIptables('nft'))
