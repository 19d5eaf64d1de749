import { isIPv4, isIPv6, BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cidrContains,
  familyOf,
  hostPort,
  ipFromBigInt,
  ipToBigInt,
  isLoopback,
  isUnspecified,
  parseCidr,
  parseIp,
  renderCidr,
} from './ip.ts'

describe('parseIp', () => {
  test.each([
    ['10.1.0.1', '10.1.0.1'],
    ['010.001.0.1', '10.1.0.1'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['fd00:0:0:0::1', 'fd00::1'],
    ['FD00::ABCD', 'fd00::abcd'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['::', '::'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
    ['1::ffff:1.2.3.4', '1::ffff:102:304'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['0:0:1::', '0:0:1::'],
  ])('reads %s as %s', (text, canonical) => {
    expect(parseIp(text)).toBe(canonical)
  })

  test.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '1..2.3',
    'fe80::1%eth0',
    ':::',
    '1::2::3',
    '12345::',
    'web',
    '1.2.3.4/8',
    '1.2.3.',
    '1.2.3.a',
    '1/2/3/4',
    '.1.2.3',
    '1:2:3',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:1.2.3.4',
    '1.2.3.4::1',
    '::1.2.3.4:5',
    '1:2:3:4:5:6:7::8:9',
    '1:2:3:4:5:6:7:8::',
  ])('refuses %j', (text) => {
    expect(parseIp(text)).toBeUndefined()
  })

  test('accepts every address Node accepts, and keeps its value through text and number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const ip = parseIp(text)
        expect(ip).toBeDefined()
        if (ip === undefined) return
        expect(isIPv4(ip) || isIPv6(ip)).toBe(true)
        expect(parseIp(ip)).toBe(ip)
        expect(ipFromBigInt(ipToBigInt(ip), familyOf(ip))).toBe(ip)
      }),
    )
  })
})

describe('CIDRs', () => {
  test('are masked to their network', () => {
    expect(renderCidr(parseCidr('10.20.30.40/16')!)).toBe('10.20.0.0/16')
    expect(renderCidr(parseCidr('2001:db8:ffff::1/33')!)).toBe('2001:db8:8000::/33')
    expect(renderCidr(parseCidr('1.2.3.4/0')!)).toBe('0.0.0.0/0')
    expect(renderCidr(parseCidr('1.2.3.4/32')!)).toBe('1.2.3.4/32')
    expect(renderCidr(parseCidr('fd00::1/128')!)).toBe('fd00::1/128')
    expect(renderCidr(parseCidr('::ffff:10.1.2.3/104')!)).toBe('10.0.0.0/8')
  })

  test.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    'fd00::/129',
    '::ffff:10.0.0.0/95',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/8/8',
    ' 10.0.0.0/8',
  ])('refuse %j', (text) => {
    expect(parseCidr(text)).toBeUndefined()
  })

  test('contain no address of the other family', () => {
    expect(cidrContains(parseCidr('0.0.0.0/0')!, 'fd00::1')).toBe(false)
    expect(cidrContains(parseCidr('::/0')!, '10.0.0.1')).toBe(false)
  })

  test('contain what the operating system says they contain', () => {
    const cidr = fc.oneof(
      fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 32 })),
      fc.tuple(fc.ipV6(), fc.integer({ min: 1, max: 128 })),
    )
    fc.assert(
      fc.property(cidr, fc.oneof(fc.ipV4(), fc.ipV6()), ([network, length], probe) => {
        const parsed = parseCidr(`${network}/${length}`)
        const ip = parseIp(probe)
        // A mapped address changes family, which Node's list does not follow.
        fc.pre(
          parsed !== undefined &&
            ip !== undefined &&
            familyOf(ip) === parsed.family &&
            ip.includes(':') === probe.includes(':'),
        )
        fc.pre(network.includes(':') === (parsed.family === 'ipv6'))
        const list = new BlockList()
        list.addSubnet(network, length, parsed.family)
        expect(cidrContains(parsed, ip)).toBe(list.check(ip, parsed.family))
      }),
    )
  })
})

test('the unspecified and the loopback addresses are known in both families', () => {
  expect(['0.0.0.0', '::', '0.0.0.1', '::1'].map(isUnspecified)).toEqual([true, true, false, false])
  expect(['127.0.0.1', '127.9.9.9', '::1', '::', '10.127.0.1', '1.0.0.127'].map(isLoopback)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ])
})

test.each(['x', '1.2.3', 'fd00:::1'])('a text that parseIp did not return has no number: %s', (text) => {
  expect(() => ipToBigInt(text)).toThrow(`"${text}" is not a canonical IP address`)
})

test('hostPort brackets IPv6', () => {
  expect(hostPort('10.0.0.1', 80)).toBe('10.0.0.1:80')
  expect(hostPort('fd00::1', 80)).toBe('[fd00::1]:80')
})
