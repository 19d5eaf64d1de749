import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ipFromBigInt, ipToBigInt } from '../../net/ip.ts'
import { readIpv6, writeIpv6 } from './ip-bytes.ts'

function bytesOf(text: string): string | undefined {
  const buffer = Buffer.alloc(24, 0xaa)
  const isAddress = writeIpv6(`[${text}]`, 1, text.length + 1, buffer, 4)
  expect(buffer.subarray(0, 4).toString('hex') + buffer.subarray(20).toString('hex')).toBe('aa'.repeat(8))
  return isAddress ? buffer.toString('hex', 4, 20) : undefined
}

const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })

test('every address becomes its bytes, and its bytes become its canonical text', () => {
  fc.assert(
    fc.property(groups, (groups) => {
      const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n)
      const canonical = ipFromBigInt(value, 'ipv6')
      const bytes = value.toString(16).padStart(32, '0')
      expect(bytesOf(canonical)).toBe(bytes)
      expect(bytesOf(groups.map((group) => group.toString(16)).join(':'))).toBe(bytes)
      expect(readIpv6(Buffer.from(`ff${bytes}`, 'hex'), 1)).toBe(canonical)
    }),
  )
})

test('what is no address is refused, in agreement with the parser of the API objects', () => {
  const texts = fc.stringMatching(/^[0-9a-f:]{0,20}$/)
  fc.assert(
    fc.property(texts, (text) => {
      let value: bigint | undefined
      try {
        value = text.includes(':') ? ipToBigInt(text) : undefined
      } catch {
        value = undefined
      }
      expect(bytesOf(text)).toBe(value?.toString(16).padStart(32, '0'))
    }),
    {
      examples: [
        [''],
        [':'],
        ['::'],
        [':::'],
        ['1:'],
        [':1'],
        ['1::2::3'],
        ['1:2:3:4:5:6:7:8::'],
        ['::1:2:3:4:5:6:7:8'],
      ],
    },
  )
})
