import { splitNftables } from './testing/split-proxy.ts'
import { testRows } from './testing/test-rows.ts'

testRows(splitNftables)
