import { testAddressGuard } from '../../packet/testing/test-address-guard.ts'
import { fairleadIpvs } from './testing/ipvs-proxies.ts'

testAddressGuard(fairleadIpvs)
