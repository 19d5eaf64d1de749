/** Both IP families of a node have one interface and one record of what is ours, and each a backend of its own. */
import { expect, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { nodePortAddresses } from '../../../core/node/node-port-addresses.ts'
import type { Route } from '../../../core/route.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { testRoute, testView } from '../../../core/testing/routes.ts'
import { MemoryOwnedObjects } from '../../../dataplane/owned-objects/memory-owned-objects.ts'
import { MemoryNetsh } from '../../../dataplane/netsh/memory-netsh.ts'
import { MemoryRelay } from '../../../dataplane/relay/testing/memory-relay.ts'
import { families } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import { WindowsBackend } from './windows-backend.ts'

const never = new AbortController().signal
const ipOf = { ipv4: '10.96.0.10', ipv6: 'fd00:96::10' } as const
const routeOf = {
  ipv4: testRoute('shop/web', { clusterIP: ipOf.ipv4 }),
  ipv6: testRoute('shop/web', { clusterIP: ipOf.ipv6, family: 'ipv6' }),
} as const

function dualStackNode() {
  const [netsh, owned, relay] = [new MemoryNetsh(), new MemoryOwnedObjects(), new MemoryRelay()]
  const open = (family: Family) =>
    new WindowsBackend({
      relay,
      netsh,
      owned,
      family,
      localIps: () => [...netsh.ips],
      nodePortAddresses: () => nodePortAddresses([], family),
      clock: new FakeClock(),
      log: silentLogger,
    })
  const backends = { ipv4: open('ipv4'), ipv6: open('ipv6') }
  return {
    backends,
    /** A full sync, which looks at everything that is written down. */
    sync: (family: Family, ...routes: readonly Route[]) =>
      backends[family].sync(testView(...routes), { full: true, keys: [], causes: [] }, never),
    ips: () => [...netsh.ips].sort(),
    written: () =>
      owned
        .list()
        .map((line) => line.split(' ')[1] ?? '')
        .sort(),
  }
}

const others = { ipv4: 'ipv6', ipv6: 'ipv4' } as const
test.each(families)('a full sync of %s leaves the addresses of the other family alone', async (family) => {
  const node = dualStackNode()
  const other = others[family]
  await node.sync(other, routeOf[other])
  await node.sync(family, routeOf[family])
  await node.sync(family)
  expect(node.ips()).toEqual([ipOf[other]])
  expect(node.written()).toEqual([ipOf[other]])
})

test.each(families)('when %s ends, the addresses of the other family stay', async (family) => {
  const node = dualStackNode()
  const other = others[family]
  for (const each of families) await node.sync(each, routeOf[each])
  expect(node.ips()).toEqual([ipOf.ipv4, ipOf.ipv6])
  await node.backends[family][Symbol.asyncDispose]()
  expect(node.ips()).toEqual([ipOf[other]])
  expect(node.written()).toEqual([ipOf[other]])
  await node.backends[other][Symbol.asyncDispose]()
  expect(node.ips()).toEqual([])
  expect(node.written()).toEqual([])
})
