import { expect, test } from 'vitest'
import { MemoryOwnedObjects } from '../../../dataplane/owned-objects/memory-owned-objects.ts'
import { MemoryNetsh } from '../../../dataplane/netsh/memory-netsh.ts'
import { findLeftovers } from './leftovers.ts'

const { signal } = new AbortController()
const hns = 'vEthernet (HNS Internal NIC)'

test('our addresses are found and removed, on whichever interface they are; those of others stay', async () => {
  const [here, there] = [new MemoryNetsh(), new MemoryNetsh()]
  for (const ip of ['10.96.0.10', '10.96.0.99', 'fd00:96::10']) here.ips.add(ip)
  there.ips.add('10.96.0.11')
  const lines = [
    `address 10.96.0.10 on ${hns}`,
    `address fd00:96::10 on ${hns}`,
    `address 10.96.0.12 on ${hns}`,
    'address 10.96.0.11 on Ethernet 2',
    'balancer ipv4 6 10.96.0.10 80',
  ]
  const owned = new MemoryOwnedObjects(lines)
  const openNetsh = (name: string) => (name === hns ? here : there)
  const { removals, problems } = await findLeftovers({ owned, openNetsh }, signal)
  expect(problems).toEqual([])
  expect(removals.flatMap(({ leftovers }) => leftovers)).toEqual(
    [
      `netsh: address 10.96.0.10 of the interface "${hns}"`,
      `netsh: address fd00:96::10 of the interface "${hns}"`,
      'netsh: address 10.96.0.11 of the interface "Ethernet 2"',
    ].map((what) => ({
      what,
      reason: 'written down in the state directory as added by Fairlead',
      modes: ['userspace'],
    })),
  )
  for (const removal of removals) await removal.remove(removal.leftovers, signal)
  expect([...here.ips, ...there.ips]).toEqual(['10.96.0.99'])
  expect(owned.list()).toEqual([lines[2], lines[4]])
})

test('an interface that is gone has taken its addresses along', async () => {
  const netsh = new MemoryNetsh()
  netsh.hasInterface = false
  const owned = new MemoryOwnedObjects([`address 10.96.0.10 on ${hns}`])
  expect(await findLeftovers({ owned, openNetsh: () => netsh }, signal)).toEqual({ removals: [], problems: [] })
})
