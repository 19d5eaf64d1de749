// What needs a kernel with dummy links is in tests/ipvs.
import { expect, test } from 'vitest'
import { encodeMessage } from '../netlink/message.ts'
import { NetlinkSocket } from '../netlink/netlink-socket.ts'
import { hex } from '../netlink/testing/hex.ts'
import { ScriptedDatagrams } from '../netlink/testing/scripted-datagrams.ts'
import type { Answer } from '../netlink/testing/scripted-datagrams.ts'
import { addressesContract } from './addresses.contract.ts'
import { MemoryAddresses } from './memory-addresses.ts'
import { netlinkAddresses } from './netlink-addresses.ts'

addressesContract('MemoryAddresses', async () => {
  const addresses = new MemoryAddresses()
  addresses.addLink('eth0', { ip: '192.0.2.7', prefixLength: 24 })
  return { addresses, otherLink: 'eth0' }
})

const { signal } = new AbortController()

/** A kernel that gives these answers in turn, and the requests that it got. */
function scripted(...answers: readonly Answer[]) {
  const datagrams = new ScriptedDatagrams(...answers)
  const socket = new NetlinkSocket(datagrams)
  return { datagrams, addresses: netlinkAddresses({ open: async () => socket }) }
}

/** The kernel's answer to the request with this number: an errno, or 0 for success. */
function verdict(sequence: number, errno: number): Buffer {
  const body = Buffer.alloc(20)
  body.writeInt32LE(-errno)
  return encodeMessage(2, 0, sequence, body)
}

const [ENODEV, EOPNOTSUPP] = [19, 95]
const foundLink = (sequence: number, kind: string) =>
  Buffer.concat([
    encodeMessage(
      16,
      0,
      sequence,
      hex(`00000000 02000000 00000000 00000000  0f00 0300 6b7562652d697076733000 00  ${kind}`),
    ),
    verdict(sequence, 0),
  ])
const dummyKind = '1000 1200 0900 0100 64756d6d79 000000'

test('a dummy link is made with the bytes that the kernel is known to take', async () => {
  const { datagrams, addresses } = scripted(verdict(1, ENODEV), verdict(2, 0))
  await addresses.ensureDummy('kube-ipvs0', signal)
  expect(datagrams.sent[1]).toEqual(
    hex(`48000000 1000 0506 02000000 00000000  00000000 00000000 00000000 00000000
      0f00 0300 6b7562652d697076733000 00  0800 0d00 00000000  ${dummyKind}`),
  )
})

test('addresses are added with the bytes that the kernel is known to take', async () => {
  const { datagrams, addresses } = scripted(foundLink(1, dummyKind), verdict(3, 0))
  await addresses.add('kube-ipvs0', ['10.96.0.10', 'fd00::10'], signal)
  expect(datagrams.sent[1]).toEqual(
    hex(`28000000 1400 0106 02000000 00000000  02200000 02000000  0800 0200 0a60000a  0800 0100 0a60000a
      40000000 1400 0506 03000000 00000000  0a800000 02000000
      1400 0200 fd000000 00000000 00000000 00000010  1400 0100 fd000000 00000000 00000000 00000010`),
  )
})

test('a kernel without dummy links is told from one that has them, with the module to load', async () => {
  const { addresses } = scripted(verdict(1, ENODEV), verdict(2, EOPNOTSUPP))
  await expect(addresses.ensureDummy('kube-ipvs0', signal)).rejects.toMatchObject({
    reason: 'unsupported',
    message:
      'cannot create the dummy link kube-ipvs0: the kernel has no dummy links; load the module with "modprobe dummy"',
  })
})

test('a real device is not taken for a dummy link', async () => {
  const { addresses } = scripted(foundLink(1, ''))
  await expect(addresses.removeDummy('kube-ipvs0', signal)).rejects.toMatchObject({
    reason: 'not-dummy',
    message: 'cannot remove the link kube-ipvs0: it is a device, not a dummy link',
  })
})
