import { splitOnIptables } from './testing/split-proxy.ts'
import { testRows } from './testing/test-rows.ts'

testRows(splitOnIptables('iptables', 'nft'))
