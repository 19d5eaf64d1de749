import { describe, expect, test } from 'vitest'
import { findAttribute } from '../../netlink/attribute.ts'
import { decodeMessages } from '../../netlink/message.ts'
import { netfilterAttributes } from '../../netlink/nfnetlink.ts'
import { hex } from '../../netlink/testing/hex.ts'
import { encodeBatch } from './batch.ts'
import type { Batch } from './batch.ts'
import type { NftOperation, SetDeclaration } from '../nft.ts'
import { rule } from '../rule.ts'
import { sampleTable } from '../testing/sample-table.ts'

const { services, endpoints, ranges, cidrs, clusterIps } = sampleTable('ipv4')

function batchOf(...operations: readonly NftOperation[]): Batch {
  const batch = encodeBatch('ipv4', operations, 'commit')
  if (batch === undefined) throw new Error('nft is needed')
  return batch
}

const messagesIn = ({ bytes }: Batch) => decodeMessages(bytes) ?? []

const addTo = (set: SetDeclaration, count: number, comment = 'demo/web:http'): NftOperation => ({
  do: 'add elements',
  set,
  elements: Array.from({ length: count }, (_, n) => ({
    key: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255} . tcp . 80`,
    value: 'goto pick-2',
    comment,
  })),
})

describe('a batch', () => {
  test('has the bytes of the protocol', () => {
    const element = { key: '10.112.0.21 . tcp . 80', value: 'goto service-A/b' }
    const batch = batchOf({ do: 'add elements', set: { ...services, name: 'service-ips' }, elements: [element] })
    expect(batch.bytes.toString('hex')).toBe(
      hex(`14000000 1000 0100 01000000 00000000  00 00 000a
           70000000 0c0a 0504 02000000 00000000  02 00 0000
             0d000100 666169726c65616400000000
             10000200 736572766963652d69707300
             3c000380
               38000180
                 14000180 10000100 0a700015 06000000 00500000
                 20000280 1c000280 08000100 fffffffc 10000200 736572766963652d412f6200
           14000000 1100 0100 03000000 00000000  00 00 000a`).toString('hex'),
    )
  })

  test('carries comments as nft does', () => {
    const element = { key: '10.0.0.1', comment: 'a/b:c' }
    const { bytes } = batchOf({ do: 'add elements', set: clusterIps, elements: [element] })
    expect(bytes.toString('hex')).toContain('0c000600 00 06 612f623a6300'.replaceAll(' ', ''))
  })

  test('carries both ends of a prefix', () => {
    const key = '10.0.0.1 . tcp . 80 . 192.168.0.0/16'
    const { bytes } = batchOf({ do: 'delete elements', set: ranges, keys: [key] })
    expect(bytes.toString('hex')).toContain(
      `18000180 14000100 0a000001 06000000 00500000 c0a80000
       18000a80 14000100 0a000001 06000000 00500000 c0a8ffff`.replace(/\s/g, ''),
    )
  })

  test('carries a lone prefix as its start and what comes behind it', () => {
    const elementsOf = (key: string) => {
      const { bytes } = batchOf({ do: 'delete elements', set: cidrs, keys: [key] })
      return bytes.toString('hex', 80, bytes.length - 20)
    }
    const start = (address: string) => `10000180 0c000180 08000100 ${address}`
    const behind = (address: string) => `18000180 0c000180 08000100 ${address} 08000300 00000001`
    expect(elementsOf('10.0.0.0/8')).toBe(`${start('0a000000')} ${behind('0b000000')}`.replaceAll(' ', ''))
    expect(elementsOf('10.0.0.255')).toBe(`${start('0a0000ff')} ${behind('0a000100')}`.replaceAll(' ', ''))
    expect(elementsOf('255.0.0.0/8')).toBe(start('ff000000').replaceAll(' ', ''))
  })

  test('without its end is only looked at', () => {
    const types = (purpose: 'commit' | 'check') =>
      (decodeMessages(encodeBatch('ipv4', [addTo(services, 1)], purpose)?.bytes ?? hex('')) ?? []).map(
        ({ type }) => type,
      )
    expect(types('commit')).toEqual([0x10, 0xa0c, 0x11])
    expect(types('check')).toEqual([0x10, 0xa0c])
  })

  test('asks for one acknowledgement, of the last change', () => {
    const batch = batchOf(addTo(services, 3), { do: 'delete chain', name: 'spare' })
    expect(messagesIn(batch).map(({ flags }) => flags & 4)).toEqual([0, 0, 0, 0, 4, 0])
    expect(batch.lastSequence).toBe(messagesIn(batch)[4]?.sequence)
  })

  test('has no attribute that is too long, and all elements, however many there are', () => {
    const batch = batchOf(addTo(services, 70_000, 'x'.repeat(128)))
    const lists = messagesIn(batch).flatMap((message) => findAttribute(netfilterAttributes(message), 3) ?? [])
    expect(lists.length).toBeGreaterThan(100)
    let elements = 0
    for (const { buffer, from, to } of lists) {
      expect(to - from).toBeLessThanOrEqual(0xffff - 4)
      for (let at = from; at < to; at += (buffer.readUInt16LE(at) + 3) & ~3) elements++
    }
    expect(elements).toBe(70_000)
  })

  test('without operations is empty', () => {
    expect(batchOf().isEmpty).toBe(true)
    expect(batchOf({ do: 'add elements', set: services, elements: [] }).isEmpty).toBe(true)
    expect(batchOf({ do: 'flush chain', name: 'spare' }).isEmpty).toBe(false)
  })

  test('refuses what the set cannot hold, and says what it wants', () => {
    const add = (set: SetDeclaration, key: string, value?: string) => () =>
      batchOf({ do: 'add elements', set, elements: [value === undefined ? { key } : { key, value }] })
    expect(add(services, '10.0.0.1', 'drop')).toThrow('services: it wants ipv4_addr . inet_proto . inet_service')
    expect(add(ranges, '10.0.0.1 . tcp . 80 . 10.0.0.0/33')).toThrow('source-ranges')
    expect(add(endpoints, '10.0.0.1 . tcp . 80 . 0', '10.0.0.2')).toThrow('wants ipv4_addr . inet_service')
    for (const verdict of ['', 'dropped', 'goto', 'goto a b', `goto ${'x'.repeat(256)}`])
      expect(add(services, '10.0.0.1 . tcp . 80', verdict)).toThrow('wants a verdict')
    expect(add(clusterIps, '10.0.0.1', 'drop')).toThrow('cluster-ips')
  })
})

describe('a transaction takes nft', () => {
  const hook = { type: 'nat', hook: 'output', priority: -100 } as const
  const takesNft: readonly (readonly [string, NftOperation])[] = [
    ['makes the table', { do: 'add table', comment: '' }],
    ['deletes the table', { do: 'delete table' }],
    ['declares a set', { do: 'add set', set: services }],
    ['makes a chain that the kernel calls', { do: 'add chain', chain: { name: 'nat-output', hook, comment: '' } }],
    ['adds a rule', { do: 'add rule', chain: 'spare', rule: rule({ kind: 'drop' }) }],
  ]
  for (const [what, operation] of takesNft)
    test(`when it ${what}`, () => {
      expect(encodeBatch('ipv4', [addTo(services, 1), operation], 'commit')).toBeUndefined()
    })
})

describe('what a message was to do', () => {
  test('is known by its number', () => {
    const batch = batchOf(
      { do: 'flush chain', name: 'spare' },
      { do: 'delete chain', name: 'spare' },
      { do: 'delete set', set: services },
      addTo(services, 2),
      { do: 'delete elements', set: clusterIps, keys: ['10.0.0.9'] },
    )
    const numbers = messagesIn(batch).slice(1, -1)
    expect(numbers.map(({ sequence }) => batch.describe(sequence))).toEqual([
      '"flush chain spare"',
      '"delete chain spare"',
      '"delete set services"',
      '"add element of services" with "10.0.0.0 . tcp . 80"',
      '"add element of services" with "10.0.0.1 . tcp . 80"',
      '"delete element of cluster-ips" with "10.0.0.9"',
    ])
    expect(batch.describe(1)).toBe('the transaction as a whole')
  })

  test('is known by the offset of the attribute when many elements share a message', () => {
    const batch = batchOf(addTo(services, 5000))
    const second = messagesIn(batch)[2]
    const list = second && findAttribute(netfilterAttributes(second), 3)
    if (second === undefined || list === undefined) throw new Error('no second message')
    const messageStart = second.body.from - 16
    const third = list.from + 2 * ((list.buffer.readUInt16LE(list.from) + 3) & ~3)
    const first = /"(10.*)"$/.exec(batch.describe(second.sequence, list.from - messageStart))?.[1] ?? ''
    const [, high = '', low = ''] = /^10\.0\.(\d+)\.(\d+) /.exec(first) ?? []
    const n = Number(high) * 256 + Number(low) + 2
    expect(batch.describe(second.sequence, third - messageStart)).toBe(
      `"add element of services" with "10.0.${n >> 8}.${n & 255} . tcp . 80"`,
    )
    // It points at the name of the set.
    expect(batch.describe(second.sequence, 36)).toBe('"add element of services"')
    expect(batch.describe(second.sequence)).toBe('"add element of services"')
  })
})
