import { describe, expect, test } from 'vitest'
import { openNetlink } from '../../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../../netlink/testing/network-namespace.ts'
import { listTables } from './list-tables.ts'

const missing = missingForNamespace('ip', 'nft')

describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  test('the tables of both IP families are named, and no others', async () => {
    enterFreshNamespace()
    const names = () => listTables(openNetlink, new AbortController().signal)
    expect(await names()).toEqual([])
    run(`nft 'add table ip fairlead; add table ip6 kube-proxy; add table inet firewalld'`)
    expect(await names()).toEqual([
      { family: 'ipv4', name: 'fairlead' },
      { family: 'ipv6', name: 'kube-proxy' },
    ])
  })
})
