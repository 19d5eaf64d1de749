import { userspaceScenarios } from './rows/userspace.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { testScenarios } from './testing/test-flows.ts'

testScenarios(fairleadUserspace('nft'), userspaceScenarios())
