import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attribute, cString } from './attribute.ts'
import { decodeMessages, encodeMessage, messageFlag, verdictOf } from './message.ts'
import { netfilterBody, netfilterType } from './nfnetlink.ts'
import { hex } from './testing/hex.ts'

test('a request has the bytes that the kernel is known to take', () => {
  const getFamily = Buffer.concat([Buffer.of(3, 1, 0, 0), attribute(2, cString('IPVS'))])
  const { request, ack, dump } = messageFlag
  expect(encodeMessage(0x10, request | ack, 1, getFamily)).toEqual(
    hex('20000000 1000 0500 01000000 00000000 03010000 0900 0200 4950565300000000'),
  )
  expect(encodeMessage(netfilterType('conntrack', 1), request | dump, 1, netfilterBody('ipv4'))).toEqual(
    hex('14000000 0101 0103 01000000 00000000 02000000'),
  )
})

test('a datagram holds several messages, each padded to four bytes', () => {
  const bodies = [hex('01'), hex(''), hex('0203040506')]
  const datagram = Buffer.concat(bodies.map((body, index) => encodeMessage(16 + index, 2, 7, body)))
  const messages = decodeMessages(datagram) ?? []
  expect(messages.map(({ body: { buffer, from, to } }) => buffer.subarray(from, to))).toEqual(bodies)
  expect(messages).toMatchObject([
    { type: 16, flags: 2, sequence: 7 },
    { type: 17, flags: 2, sequence: 7 },
    { type: 18, flags: 2, sequence: 7 },
  ])
})

test('a datagram that was cut off is noticed, wherever the cut is', () => {
  const datagram = Buffer.concat([encodeMessage(16, 0, 1, hex('01020304')), encodeMessage(17, 0, 1, hex('05060708'))])
  const cuts = Array.from(datagram.keys()).filter(
    (length) => decodeMessages(datagram.subarray(0, length)) !== undefined,
  )
  // Cut before the first message, and exactly after it.
  expect(cuts).toEqual([0, 20])
})

test('decoding ends for every sequence of bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 96 }), (bytes) => {
      for (const message of decodeMessages(Buffer.from(bytes)) ?? []) {
        expect(message.body.to).toBeLessThanOrEqual(bytes.length)
        verdictOf(message)
      }
    }),
  )
})

describe('the end of an answer', () => {
  const echoed = hex('14000000 0201 0500 09000000 00000000')
  const text = attribute(1, cString('no such table'))
  const { capped, hasAckAttributes } = messageFlag
  const verdict = (type: number, flags: number, ...body: readonly Buffer[]) =>
    decodeMessages(encodeMessage(type, flags, 1, Buffer.concat(body)))?.map(verdictOf)[0]

  test('is an acknowledgement, or the end of a dump, with errno 0', () => {
    expect(verdict(2, capped, hex('00000000'), echoed)).toEqual({ errno: 0, text: '' })
    expect(verdict(3, 2, hex('00000000'))).toEqual({ errno: 0, text: '' })
    expect(verdict(3, 2)).toEqual({ errno: 0, text: '' })
  })

  test('is an error with its number', () => {
    expect(verdict(2, capped, hex('feffffff'), echoed)).toEqual({ errno: 2, text: '' })
    expect(verdict(3, 2, hex('fcffffff'))).toEqual({ errno: 4, text: '' })
  })

  test('carries the words of the kernel, behind the header or behind all of the request', () => {
    const expected = { errno: 2, text: 'no such table' }
    expect(verdict(2, capped | hasAckAttributes, hex('feffffff'), echoed, text)).toEqual(expected)
    expect(verdict(2, hasAckAttributes, hex('feffffff'), echoed, hex('02000000'), text)).toEqual(expected)
    expect(verdict(3, 2 | hasAckAttributes, hex('feffffff'), text)).toEqual(expected)
  })

  test('is not what data is', () => {
    expect(verdict(0x100, 2, hex('02000000'))).toBeUndefined()
  })
})
