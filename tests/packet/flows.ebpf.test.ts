import { ebpfScenarios } from './rows/ebpf.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { testScenarios } from './testing/test-flows.ts'

testScenarios(fairleadEbpf, ebpfScenarios())
