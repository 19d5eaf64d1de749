import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attribute, be16, be32, cString, findAttribute, nested, skip, textIn, u16, u32, u8 } from './attribute.ts'
import { ipBytes, readIp } from './ip-bytes.ts'
import { hex } from './testing/hex.ts'

const whole = (buffer: Buffer) => ({ buffer, from: 0, to: buffer.length })

describe('an attribute on the wire', () => {
  for (const [what, bytes, expected] of [
    ['one byte, padded to four', attribute(7, u8(17)), '0500 0700 11000000'],
    ['a port, most significant byte first', attribute(2, be16(53)), '0600 0200 0035 0000'],
    ['a number for netfilter, most significant byte first', attribute(7, be32(600)), '0800 0700 00000258'],
    ['a number in host order', attribute(8, u32(10_800)), '0800 0800 302a0000'],
    ['a small number in host order', attribute(2, u16(132)), '0600 0200 8400 0000'],
    ['a text with its NUL', attribute(2, cString('IPVS')), '0900 0200 4950565300000000'],
    ['an IPv4 address', attribute(1, ipBytes('10.96.0.12')), '0800 0100 0a60000c'],
    ['an IPv6 address', attribute(3, ipBytes('fd00::10')), '1400 0300 fd000000 00000000 00000000 00000010'],
    ['no payload', attribute(9, Buffer.alloc(0)), '0400 0900'],
    ['attributes in an attribute', nested(18, attribute(1, cString('dummy'))), '1000 1280 0a00 0100 64756d6d79000000'],
  ] as const)
    test(`holds ${what}`, () => expect(bytes).toEqual(hex(expected)))

  test('cannot hold more than its length field can say', () => {
    expect(attribute(1, Buffer.alloc(65_531))).toHaveLength(65_536)
    expect(() => attribute(1, Buffer.alloc(65_532))).toThrow('at most 65531 bytes')
  })
})

describe('finding an attribute', () => {
  const list = Buffer.concat([attribute(1, u8(5)), nested(2, attribute(1, be16(80))), attribute(3, cString('tcp'))])

  test('steps over the padding and past the flags in a type', () => {
    const inner = findAttribute(whole(list), 2)
    const port = inner && findAttribute(inner, 1)
    expect(port?.buffer.readUInt16BE(port.from)).toBe(80)
    expect(textIn(whole(list), 3)).toBe('tcp')
  })

  test('gives undefined for one that is not there', () => {
    expect(findAttribute(whole(list), 4)).toBeUndefined()
  })

  test('can start behind a fixed header, also one that is not whole', () => {
    expect(findAttribute(skip(whole(Buffer.concat([Buffer.alloc(4), list])), 4), 3)).toBeDefined()
    expect(findAttribute(skip(whole(Buffer.alloc(2)), 4), 3)).toBeUndefined()
  })

  test('ends for every sequence of bytes, and never looks outside', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.integer({ min: 0, max: 20 }), (bytes, type) => {
        const found = findAttribute(whole(Buffer.from(bytes)), type)
        expect(found === undefined || (found.from <= found.to && found.to <= bytes.length)).toBe(true)
      }),
    )
  })
})

test('a text ends at its NUL, or with its attribute', () => {
  const text = (payload: string) => textIn(whole(attribute(1, Buffer.from(payload))), 1)
  expect(text('web\0\0')).toBe('web')
  expect(text('web1')).toBe('web1')
  expect(text('')).toBe('')
})

test('every address is read back as it was written', () => {
  for (const ip of ['0.0.0.0', '10.96.0.10', '255.255.255.255', '::', '::1', 'fd00:1:2::3', '2001:db8:0:1:1:1:1:1'])
    expect(readIp(whole(ipBytes(ip)))).toBe(ip)
})
