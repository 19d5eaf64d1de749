/** The doors to the kernel keep their contracts on a kernel that has IPVS and dummy links. IP sets most kernels have. */
import { expect, test } from 'vitest'
import { addressesContract } from '../../../src/dataplane/addresses/addresses.contract.ts'
import { commandLinks } from '../../../src/dataplane/addresses/command-links.ts'
import { linksContract } from '../../../src/dataplane/addresses/links.contract.ts'
import { netlinkAddresses } from '../../../src/dataplane/addresses/netlink-addresses.ts'
import { processExec } from '../../../src/dataplane/exec/exec.ts'
import { commandIpvs } from '../../../src/dataplane/ipvs/command-ipvs.ts'
import { ipvsContract } from '../../../src/dataplane/ipvs/ipvs.contract.ts'
import { netlinkIpvs } from '../../../src/dataplane/ipvs/netlink-ipvs.ts'
import { procRealServerTable } from '../../../src/dataplane/ipvs/real-server-table.ts'
import { openNetlink } from '../../../src/dataplane/netlink/open-netlink.ts'
import { run } from '../../../src/dataplane/netlink/testing/network-namespace.ts'
import { freshNamespace } from './testing/fresh-namespace.ts'

ipvsContract('netlinkIpvs', async () => {
  await freshNamespace()
  return netlinkIpvs({ open: openNetlink, readRealServerTable: procRealServerTable })
})

ipvsContract('netlinkIpvs without /proc', async () => {
  await freshNamespace()
  return netlinkIpvs({ open: openNetlink, readRealServerTable: async () => undefined })
})

ipvsContract('commandIpvs', async () => {
  await freshNamespace()
  return commandIpvs(processExec)
})

addressesContract('netlinkAddresses', async () => {
  await freshNamespace()
  run('ip link add fl-veth0 type veth peer name fl-veth1 && ip address add 192.0.2.7/24 dev fl-veth0')
  return { addresses: netlinkAddresses({ open: openNetlink }), otherLink: 'fl-veth0' }
})

linksContract('commandLinks', async () => {
  await freshNamespace()
  run(`ip link add fl-veth0 type veth peer name fl-veth1 && ip address add 192.0.2.7/24 dev fl-veth0
    ip link add fl-ipvs0 type dummy && ip address add 10.96.0.10/32 dev fl-ipvs0
    ip address add fd00:96::10/128 dev fl-ipvs0`)
  return { links: commandLinks(processExec), dummy: 'fl-ipvs0', otherLink: 'fl-veth0' }
})

const { signal } = new AbortController()

test('a dummy link stays down and has no queue, and the kernel takes its addresses for its own', async () => {
  await freshNamespace()
  const addresses = netlinkAddresses({ open: openNetlink })
  await addresses.ensureDummy('fl-ipvs0', signal)
  await addresses.add('fl-ipvs0', ['10.96.0.10', 'fd00:96::10'], signal)
  const shown = run('ip -details link show fl-ipvs0')
  expect(shown).toContain('<BROADCAST,NOARP>')
  expect(shown).toContain('state DOWN')
  expect(shown).not.toContain('qlen')
  expect(run('ip route get 10.96.0.10')).toContain('local 10.96.0.10')
  expect(run('ip -6 route get fd00:96::10')).toContain('local fd00:96::10')
})

test('of a link from point to point, the near end is listed', async () => {
  await freshNamespace()
  run('ip link add fl-p2p type dummy && ip address add 192.0.2.1 peer 192.0.2.2/32 dev fl-p2p')
  const listed = await netlinkAddresses({ open: openNetlink }).list(signal)
  expect(listed).toContainEqual({ link: 'fl-p2p', ip: '192.0.2.1', prefixLength: 32 })
})
