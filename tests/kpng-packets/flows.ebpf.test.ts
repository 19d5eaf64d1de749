import { ebpfScenarios } from '../packet/rows/ebpf.ts'
import { localPods } from '../packet/testing/address-plan.ts'
import { testScenarios } from '../packet/testing/test-flows.ts'
import { splitEbpf } from './testing/split-proxy.ts'

const pods: readonly string[] = localPods
// The first has every row; the others differ in settings that concern the backend alone. Who has no socket here meets the nftables mode.
const [plain] = ebpfScenarios()
if (plain !== undefined)
  testScenarios(splitEbpf, [
    { ...plain, rows: plain.rows.filter(({ from }) => from.every((one) => pods.includes(one))) },
  ])
