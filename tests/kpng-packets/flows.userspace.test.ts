import { userspaceScenarios } from '../packet/rows/userspace.ts'
import { testScenarios } from '../packet/testing/test-flows.ts'
import { splitOnIptables } from './testing/split-proxy.ts'

// The first has every row; the others differ in settings that concern the backend alone.
testScenarios(splitOnIptables('userspace', 'nft'), userspaceScenarios().slice(0, 1))
