// tests/ipvs runs the contract.
import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { attribute, u16 } from '../netlink/attribute.ts'
import { genericBody } from '../netlink/generic.ts'
import { encodeMessage } from '../netlink/message.ts'
import { NetlinkSocket } from '../netlink/netlink-socket.ts'
import { ScriptedDatagrams } from '../netlink/testing/scripted-datagrams.ts'
import type { Answer } from '../netlink/testing/scripted-datagrams.ts'
import type { IpvsOperation } from './ipvs.ts'
import { netlinkIpvs } from './netlink-ipvs.ts'

const { signal } = new AbortController()
const { ENOENT, EPERM, EINVAL } = constants.errno

/** A kernel that gives these answers in turn, and the requests that it got. */
function scripted(...answers: readonly Answer[]) {
  const datagrams = new ScriptedDatagrams(...answers)
  const open = async () => new NetlinkSocket(datagrams)
  return { datagrams, ipvs: netlinkIpvs({ open, readRealServerTable: async () => new Map() }) }
}

function verdict(sequence: number, errno: number): Buffer {
  const body = Buffer.alloc(20)
  body.writeInt32LE(-errno)
  return encodeMessage(2, 0, sequence, body)
}

const familyIs28 = Buffer.concat([encodeMessage(0x10, 0, 1, genericBody(1, attribute(1, u16(28)))), verdict(1, 0)])

const addServers = (count: number): IpvsOperation[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'add-server',
    server: { ip: '10.96.0.10', port: index + 1, protocol: 'TCP', scheduler: 'rr', flags: 0, timeoutSeconds: 0 },
  }))

test('a kernel without IPVS is named with the module to load', async () => {
  const { ipvs } = scripted(verdict(1, ENOENT))
  await expect(ipvs.list(signal)).rejects.toMatchObject({
    name: 'IpvsError',
    reason: 'module-missing',
    message: 'cannot use IPVS: the kernel does not have it; load the module with "modprobe ip_vs"',
  })
})

test('a user without the right is told which one', async () => {
  const { ipvs } = scripted(familyIs28, verdict(2, EPERM))
  await expect(ipvs.flush(signal)).rejects.toMatchObject({
    reason: 'not-permitted',
    message: expect.stringContaining('CAP_NET_ADMIN') as string,
  })
})

test('hundreds of operations travel together, and each error finds its operation', async () => {
  const { datagrams, ipvs } = scripted(
    familyIs28,
    Buffer.concat([verdict(12, EINVAL), verdict(513, 0)]),
    Buffer.concat([verdict(514, EINVAL), verdict(601, 0)]),
  )
  const errors = await ipvs.apply(addServers(600), signal)
  expect(datagrams.sent).toHaveLength(3)
  expect([...errors.keys()]).toEqual([10, 512])
  expect(errors.get(512)).toMatchObject({
    reason: 'refused',
    message: expect.stringContaining('cannot add the virtual server 10.96.0.10:513/TCP') as string,
  })
})

test('between two datagrams it can be stopped', async () => {
  const stop = new AbortController()
  const { datagrams, ipvs } = scripted(familyIs28, verdict(513, 0))
  const send = datagrams.send.bind(datagrams)
  datagrams.send = async (datagram) => {
    await send(datagram)
    if (datagrams.sent.length === 2) stop.abort(new Error('stopping'))
  }
  await expect(ipvs.apply(addServers(600), stop.signal)).rejects.toThrow('stopping')
  expect(datagrams.sent).toHaveLength(2)
  expect(datagrams.isClosed).toBe(true)
})
