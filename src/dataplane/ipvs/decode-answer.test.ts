import { expect, test } from 'vitest'
import { attribute, be16, cString, u16, u32 } from '../netlink/attribute.ts'
import { genericBody } from '../netlink/generic.ts'
import { ipBytes } from '../netlink/ip-bytes.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { readRealServer, readServer, readTimeouts } from './decode-answer.ts'

/** The kernel sends an IPv4 address in 16 bytes, too. */
const wide = (ip: string) => Buffer.concat([ipBytes(ip), Buffer.alloc(12)])
const statistics = attribute(10, attribute(1, u32(7)))
const flags = (bits: number) => attribute(7, Buffer.concat([u32(bits), u32(0xffffffff)]))

function message(...attributes: readonly Buffer[]): NetlinkMessage {
  const buffer = genericBody(1, ...attributes)
  return { type: 28, flags: 2, sequence: 1, body: { buffer, from: 0, to: buffer.length } }
}

function server(...fields: readonly Buffer[]): NetlinkMessage {
  return message(attribute(1, Buffer.concat(fields)))
}

const webFields = [
  attribute(1, u16(2)),
  attribute(2, u16(6)),
  attribute(3, wide('10.96.0.10')),
  attribute(4, be16(80)),
  attribute(6, cString('rr')),
  flags(0x2),
  attribute(8, u32(0)),
  attribute(9, u32(0xffffffff)),
]
const web = { ip: '10.96.0.10', port: 80, protocol: 'TCP', scheduler: 'rr', flags: 0, timeoutSeconds: 0 }

test('a virtual server is read without the flag that all of them have', () => {
  expect(readServer(server(...webFields))).toEqual(web)
})

test('the order of attributes does not matter, nor those that nobody asked for', () => {
  expect(readServer(server(statistics, ...webFields.toReversed(), attribute(77, u32(1))))).toEqual(web)
})

test('an IPv6 server with persistence and flags of its scheduler is read', () => {
  const fields = [
    attribute(1, u16(10)),
    attribute(2, u16(132)),
    attribute(3, ipBytes('fd00::10')),
    attribute(4, be16(9)),
    attribute(6, cString('mh')),
    flags(0x13),
    attribute(8, u32(10_800)),
  ]
  expect(readServer(server(...fields))).toEqual({
    ip: 'fd00::10',
    port: 9,
    protocol: 'SCTP',
    scheduler: 'mh',
    flags: 0x11,
    timeoutSeconds: 10_800,
  })
})

test('a server for a firewall mark has no address, and is passed over', () => {
  const fields = [attribute(1, u16(2)), attribute(5, u32(7)), attribute(6, cString('rr')), flags(0x2)]
  expect(readServer(server(...fields))).toBeUndefined()
})

test('half an answer is passed over', () => {
  expect(readServer(message())).toBeUndefined()
  expect(readServer(server(...webFields.slice(0, 2), attribute(3, Buffer.alloc(2)), ...webFields.slice(3)))).toBe(
    undefined,
  )
  expect(readRealServer(message(), 'ipv4')).toBeUndefined()
})

test('a real server is read with its weight and connections', () => {
  const fields = [
    attribute(11, u16(2)),
    attribute(8, u32(5)),
    attribute(7, u32(3)),
    attribute(4, u32(1)),
    attribute(2, be16(8080)),
    attribute(1, wide('10.64.0.1')),
  ]
  const expected = { ip: '10.64.0.1', port: 8080, weight: 1, activeConnections: 3, inactiveConnections: 5 }
  expect(readRealServer(message(attribute(2, Buffer.concat(fields))), 'ipv6')).toEqual(expected)
  // Old kernels do not send the family; then it is that of the virtual server.
  expect(readRealServer(message(attribute(2, Buffer.concat(fields.slice(1)))), 'ipv4')).toEqual(expected)
})

test('timeouts are read', () => {
  expect(readTimeouts(message(attribute(4, u32(900)), attribute(5, u32(120)), attribute(6, u32(300))))).toEqual({
    tcpSeconds: 900,
    tcpFinSeconds: 120,
    udpSeconds: 300,
  })
})
