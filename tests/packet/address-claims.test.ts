import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { describeEach, fairleads } from './testing/proxies.ts'
import { testAddressClaims } from './testing/test-address-claims.ts'

describeEach([...fairleads, fairleadUserspace('nft'), fairleadEbpf], testAddressClaims)
