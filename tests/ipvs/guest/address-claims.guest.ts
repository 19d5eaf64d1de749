import { testAddressClaims } from '../../packet/testing/test-address-claims.ts'
import { fairleadIpvs } from './testing/ipvs-proxies.ts'

testAddressClaims(fairleadIpvs)
