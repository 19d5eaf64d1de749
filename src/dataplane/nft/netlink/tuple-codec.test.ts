import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseCidr, renderCidr } from '../../../net/ip.ts'
import type { FieldType } from '../nft.ts'
import { keyCodec, tupleCodec } from './tuple-codec.ts'

function written(types: readonly FieldType[], text: string): string | undefined {
  const codec = tupleCodec(types)
  const buffer = Buffer.alloc(codec.bytes + 8, 0xaa)
  const isValid = codec.write(text, buffer, 4)
  expect(buffer.toString('hex', 0, 4) + buffer.toString('hex', codec.bytes + 4)).toBe('aaaaaaaaaaaaaaaa')
  return isValid ? buffer.toString('hex', 4, 4 + codec.bytes) : undefined
}

describe('a tuple has the bytes that the kernel compares', () => {
  for (const [types, text, bytes] of [
    [['ipv4_addr'], '10.112.0.21', '0a700015'],
    [['inet_service'], '80', '0050'],
    [['ipv4_addr', 'inet_proto', 'inet_service'], '10.112.0.21 . tcp . 80', '0a700015 06000000 00500000'],
    [['inet_proto', 'inet_service', 'index'], 'udp . 65535 . 258', '11000000 ffff0000 02010000'],
    [['inet_proto', 'inet_service'], 'sctp . 0', '84000000 00000000'],
    [['inet_proto', 'inet_service'], '6 . 1', '06000000 00010000'],
    [['ipv6_addr', 'inet_service'], '2001:db8:112::21 . 443', '20010db8 01120000 00000000 00000021 01bb0000'],
  ] as const)
    test(`for ${text}`, () => expect(written(types, text)).toBe(bytes.replaceAll(' ', '')))
})

describe('a text of other fields is refused', () => {
  const types = ['ipv4_addr', 'inet_proto', 'inet_service'] as const
  for (const text of [
    '',
    '10.0.0.1',
    '10.0.0.1 . tcp',
    '10.0.0.1 . tcp . 80 . 1',
    '10.0.0.1 . tcp . 80 ',
    '10.0.0.1 . tcp . 65536',
    '10.0.0.1 . tcp . -1',
    '10.0.0.1 . tcp . http',
    '10.0.0.1 . icmp . 80',
    '10.0.0.256 . tcp . 80',
    '10.0.0 . tcp . 80',
    '10.0.0.1.2 . tcp . 80',
    '10.0.0. . tcp . 80',
    '::1 . tcp . 80',
    '10.0.0.1, tcp . 80',
  ])
    test(`"${text}"`, () => expect(written(types, text)).toBeUndefined())
})

describe('a range', () => {
  function roundTrip(types: readonly FieldType[], text: string): string | undefined {
    const codec = tupleCodec(types)
    const buffer = Buffer.alloc(2 * codec.bytes)
    return codec.writeRange(text, buffer, 0, codec.bytes) ? codec.readRange(buffer, 0, codec.bytes) : undefined
  }

  test('has the lowest and the highest key of a prefix', () => {
    const codec = tupleCodec(['inet_service', 'ipv4_addr'])
    const buffer = Buffer.alloc(16)
    expect(codec.writeRange('80 . 172.16.0.0/12', buffer, 0, 8)).toBe(true)
    expect(buffer.toString('hex')).toBe('00500000ac10000000500000ac1fffff')
  })

  test('is read as the prefix that it was, without its host bits', () => {
    const address = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
    const address6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }))
    fc.assert(
      fc.property(fc.oneof(address, address6), ([ip, length]) => {
        const cidr = parseCidr(`${ip}/${length}`)
        if (cidr === undefined) return
        const canonical = renderCidr(cidr)
        const type = cidr.family === 'ipv4' ? 'ipv4_addr' : 'ipv6_addr'
        const expected = canonical.replace(cidr.family === 'ipv4' ? /\/32$/ : /\/128$/, '')
        expect(roundTrip(['inet_proto', type], `udp . ${canonical}`)).toBe(`udp . ${expected}`)
      }),
    )
  })

  test('that is no prefix is read as its two ends', () => {
    const codec = tupleCodec(['ipv4_addr'])
    const ends = (hex: string) => codec.readRange(Buffer.from(hex, 'hex'), 0, 4)
    expect(ends('0a0000000a0000ff')).toBe('10.0.0.0/24')
    expect(ends('0a0000010a0000ff')).toBe('10.0.0.1-10.0.0.255')
    expect(ends('0a0000000a0001fe')).toBe('10.0.0.0-10.0.1.254')
    expect(ends('0a0000000a0002ff')).toBe('10.0.0.0-10.0.2.255')
    expect(ends('00000000ffffffff')).toBe('0.0.0.0/0')
  })

  test('with a length that no address has is refused', () => {
    for (const text of ['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/x', '10.0.0.0/1.5', '10.0.0/8'])
      expect(roundTrip(['ipv4_addr'], text)).toBeUndefined()
  })
})

describe('keys of intervals', () => {
  const set = { key: ['ipv4_addr', 'inet_proto', 'inet_service', 'index'], isInterval: true } as const
  for (const [text, lowest, highest] of [
    [
      '10.112.0.21 . tcp . 30000-30100 . 258',
      '0a700015 06000000 75300000 00000102',
      '0a700015 06000000 75940000 00000102',
    ],
    ['10.112.0.21 . udp . 80 . 0', '0a700015 11000000 00500000 00000000', '0a700015 11000000 00500000 00000000'],
    // nft calls only ranges of addresses prefixes.
    ['10.112.0.21 . tcp . 256-511 . 1', '0a700015 06000000 01000000 00000001', '0a700015 06000000 01ff0000 00000001'],
    ['10.112.0.0/24 . tcp . 1-2 . 1', '0a700000 06000000 00010000 00000001', '0a7000ff 06000000 00020000 00000001'],
  ] as const)
    test(`key ${text}`, () => {
      const codec = keyCodec(set)
      const buffer = Buffer.alloc(2 * codec.bytes, 0xaa)
      expect(codec.writeRange(text, buffer, 0, codec.bytes)).toBe(true)
      expect(buffer.toString('hex')).toBe(`${lowest}${highest}`.replaceAll(' ', ''))
      expect(codec.readRange(buffer, 0, codec.bytes)).toBe(text)
    })

  for (const text of ['10.112.0.21 . tcp . 30000- . 0', '10.112.0.21 . tcp . 1-65536 . 0', '10.112.0.21 . tcp . 1-2'])
    test(`not "${text}"`, () => {
      const codec = keyCodec(set)
      expect(codec.writeRange(text, Buffer.alloc(2 * codec.bytes), 0, codec.bytes)).toBe(false)
    })
})
