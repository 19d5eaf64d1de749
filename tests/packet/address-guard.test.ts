import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { describeEach, fairleads } from './testing/proxies.ts'
import { testAddressGuard } from './testing/test-address-guard.ts'

describeEach([...fairleads, fairleadUserspace('nft'), fairleadEbpf], testAddressGuard)
