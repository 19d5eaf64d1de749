import { describe, expect, test } from 'vitest'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { attribute, be16, be32, u8 } from '../netlink/attribute.ts'
import { decodeMessages, encodeMessage } from '../netlink/message.ts'
import { netfilterBody } from '../netlink/nfnetlink.ts'
import { hex } from '../netlink/testing/hex.ts'
import { deleteFlow, encodeTuple, listFlows, readUdpFlow } from './flow-messages.ts'
import { testFlow } from './testing/flows.ts'

const dns = testFlow({ client: '192.0.2.2:43537', service: '10.96.0.12:53', endpoint: '10.64.0.2:5353' })
const dns6 = testFlow({ client: '[fd00::5]:43537', service: '[fd00::c]:53', endpoint: '[fd00:64::2]:5353' })

describe('the kernel is asked', () => {
  test('for all flows, without a filter', () => {
    expect(listFlows()).toEqual({ type: 0x101, doing: 'list the tracked flows', body: hex('00000000') })
  })

  test('to delete a flow by its reply and its number', () => {
    const request = deleteFlow({ ...dns, id: 0x0102fffe })
    expect(request).toMatchObject({ type: 0x102, doing: 'delete the flow to 10.96.0.12:53' })
    expect(request.body).toEqual(
      hex(`02000000
           3400 0280 1400 0180 0800 0100 0a400002 0800 0200 c0000202
                     1c00 0280 0500 0100 11000000 0600 0200 14e9 0000 0600 0300 aa11 0000
           0800 0c00 0102fffe`),
    )
  })

  test('to delete an IPv6 flow, in its zone', () => {
    expect(deleteFlow({ ...dns6, zone: 7 }).body).toEqual(
      hex(`0a000000
           4c00 0280 2c00 0180 1400 0300 fd000064 00000000 00000000 00000002
                               1400 0400 fd000000 00000000 00000000 00000005
                     1c00 0280 0500 0100 11000000 0600 0200 14e9 0000 0600 0300 aa11 0000
           0600 1200 0007 0000`),
    )
  })
})

describe('a flow from the kernel', () => {
  const message = (family: Family, ...attributes: readonly Buffer[]) =>
    encodeMessage(0x100, 2, 1, netfilterBody(family, ...attributes))
  const read = (datagram: Buffer, family: Family) =>
    decodeMessages(datagram)?.map((message) => readUdpFlow(message, family))[0]
  const listed = (...attributes: readonly Buffer[]) => read(message('ipv4', ...attributes), 'ipv4')
  const status = attribute(3, be32(0x188))

  for (const flow of [dns, dns6])
    test(`to ${flow.original.destinationIp} is read with both directions, number and zone`, () => {
      const family = familyOf(flow.original.sourceIp)
      const listed = (...attributes: readonly Buffer[]) => read(message(family, ...attributes), family)
      const [original, reply] = [encodeTuple(1, 17, flow.original), encodeTuple(2, 17, flow.reply)]
      const id = attribute(12, be32(0xf0000001))
      expect(listed(original, reply, status, id)).toEqual({ ...flow, id: 0xf0000001 })
      expect(listed(original, reply, status, id, attribute(18, be16(7)))).toEqual({ ...flow, id: 0xf0000001, zone: 7 })
      expect(listed(reply, id, status, original)).toEqual({ ...flow, id: 0xf0000001 })
    })

  test('of the other family is passed over', () => {
    const [original, reply] = [encodeTuple(1, 17, dns.original), encodeTuple(2, 17, dns.reply)]
    expect(read(message('ipv4', original, reply), 'ipv4')).toEqual(dns)
    expect(read(message('ipv4', original, reply), 'ipv6')).toBeUndefined()
    expect(read(message('ipv6', original, reply), 'ipv4')).toBeUndefined()
  })

  test('of another protocol is passed over', () => {
    for (const protocol of [1, 6, 132])
      expect(listed(encodeTuple(1, protocol, dns.original), encodeTuple(2, protocol, dns.reply))).toBeUndefined()
  })

  test('that lacks a direction or a part of it is passed over', () => {
    const [original, reply] = [encodeTuple(1, 17, dns.original), encodeTuple(2, 17, dns.reply)]
    expect(listed()).toBeUndefined()
    expect(listed(original)).toBeUndefined()
    expect(listed(reply)).toBeUndefined()
    const protocolOnly = attribute(1, attribute(2, attribute(1, u8(17))))
    expect(listed(protocolOnly, reply)).toBeUndefined()
  })
})
