import { expect, test } from 'vitest'
import { addressBytes, addressText } from './address-bytes.ts'
import * as layout from './layout.ts'
import type { Frontend, FrontendTarget, ServiceList } from './layout.ts'

test.each([
  ['10.96.0.1', '00000000000000000000ffff0a600001'],
  ['0.0.0.0', '00000000000000000000ffff00000000'],
  ['255.255.255.255', '00000000000000000000ffffffffffff'],
  ['::', '00000000000000000000000000000000'],
  ['::1', '00000000000000000000000000000001'],
  ['fd00:10:96::a', 'fd00001000960000000000000000000a'],
])('%s is stored as %s', (ip, hex) => {
  expect(addressBytes(ip).toString('hex')).toBe(hex)
  expect(addressText(Buffer.from(`aa${hex}`, 'hex'), 1)).toBe(ip)
})

test('what is no address is not stored', () => {
  for (const text of ['10.96.0', '10.96.0.256', '10.96..1', '10.96.0.1.2', '10.96.0.a', '10.96.0.1 ', 'fd00::g'])
    expect(() => addressBytes(text)).toThrow(text)
})

const frontends: readonly (readonly [Frontend, string])[] = [
  [{ scope: 'address', ip: '10.96.0.1', port: 443, protocol: 'TCP' }, '00000000000000000000ffff0a60000101bb0600'],
  [{ scope: 'address', ip: 'fd00::a', port: 53, protocol: 'UDP' }, 'fd00000000000000000000000000000a00351100'],
  [{ scope: 'node-port', family: 'ipv4', port: 30_080, protocol: 'TCP' }, '00000000000000000000ffff0000000075800601'],
  [{ scope: 'node-port', family: 'ipv6', port: 30_080, protocol: 'TCP' }, '0000000000000000000000000000000075800601'],
]

test.each(frontends)('the key of %j is %s', (frontend, hex) => {
  const key = layout.encodeFrontendKey(frontend)
  expect(key.toString('hex')).toBe(hex)
  expect(layout.decodeFrontendKey(key)).toEqual(frontend)
})

test.each([
  ['another protocol', '00000000000000000000ffff0a60000101bb8400'],
  ['another scope', '00000000000000000000ffff0a60000101bb0602'],
  ['a node port at one address', '00000000000000000000ffff0a60000101bb0601'],
  ['another length', '00000000000000000000ffff0a60000101bb06'],
])('a key with %s is not ours', (_what, hex) => {
  expect(layout.decodeFrontendKey(Buffer.from(hex, 'hex'))).toBeUndefined()
})

test.each<FrontendTarget>([
  { service: 1, list: 'internal' },
  { service: 0xff_ffff, list: 'external' },
])('a frontend leads to %j', (target) => {
  const key = layout.encodeFrontendKey({ scope: 'address', ip: '10.96.0.1', port: 443, protocol: 'TCP' })
  const other = layout.encodeFrontendKey({ scope: 'address', ip: '10.96.0.2', port: 443, protocol: 'TCP' })
  const value = layout.encodeFrontendTarget(target, key)
  expect(layout.decodeFrontendTarget(value, key)).toEqual(target)
  expect(layout.decodeFrontendTarget(value, other)).toBeUndefined()
  expect(layout.decodeFrontendTarget(value.subarray(4), key)).toBeUndefined()
})

test('the check of a key is 32 bits of all its words', () => {
  const key = Buffer.alloc(20)
  const seen = new Set([layout.check(key)])
  for (let at = 0; at < key.length; at++) {
    key[at] = 1
    seen.add(layout.check(key))
    key[at] = 0
  }
  expect(seen.size).toBe(21)
  expect([...seen].every((hash) => Number.isInteger(hash) && hash >= 0 && hash < 2 ** 32)).toBe(true)
})

test.each<readonly [ServiceList, number, bigint]>([
  [{ kind: 'endpoints', base: 4, count: 2 }, 3, 0x0003_0002_0000_0004n],
  [{ kind: 'endpoints', base: 262_143, count: layout.longestList }, 0xffff, 0xffff_ffff_0003_ffffn],
  [{ kind: 'refuse' }, 1, 0x0001_0000_0000_0001n],
  [{ kind: 'pass' }, 0, 0n],
])('the list word of %j, write %i, is %s', (list, turn, word) => {
  expect(layout.listWord(list, turn)).toBe(word)
  expect(layout.readListWord(word)).toEqual({ ...list, turn })
})

test('the turn of a list word starts again at 0', () => {
  expect(layout.listWord({ kind: 'pass' }, 0x1_0000)).toBe(0n)
})

test('a service is read as it was written', () => {
  const lists = { internal: { kind: 'endpoints', base: 4, count: 2 }, external: { kind: 'refuse' } } as const
  const options = { affinitySeconds: 10_800, roundRobin: true }
  const bytes = layout.encodeService({ lists, turn: 1, ...options })
  expect(bytes.toString('hex')).toBe('04000000020001000100000000000100302a0000010000000000000000000000')
  const words = { internal: layout.listWord(lists.internal, 1), external: layout.listWord(lists.external, 1) }
  expect(layout.decodeService(Buffer.concat([Buffer.alloc(32), bytes]), 32)).toEqual({ ...words, ...options })
  expect(layout.serviceOptionsWord(options)).toBe(bytes.readBigUInt64LE(layout.layout.service.affinitySeconds))
})

test('a slot is read as it was written', () => {
  const slot = { endpoint: 131_071, generation: 0xffff_ffff }
  expect(layout.slotWord(slot)).toBe(0xffff_ffff_0001_ffffn)
  expect(layout.readSlotWord(layout.slotWord(slot))).toEqual(slot)
})

test('an endpoint is read as it was written, and one word of it says whether it lives', () => {
  const endpoint = { ip: '10.64.0.9', port: 8080, lists: layout.listBits.external, generation: 7, service: 5 }
  const bytes = layout.encodeEndpoint(endpoint)
  expect(bytes.toString('hex')).toBe('00000000000000000000ffff0a4000091f900200070000000500000000000000')
  expect(layout.decodeEndpoint(Buffer.concat([Buffer.alloc(32), bytes]), 32)).toEqual(endpoint)
  bytes.writeBigUInt64LE(layout.endpointWord({ ...endpoint, lists: 3, generation: 0 }), layout.layout.endpoint.port)
  expect(layout.decodeEndpoint(bytes)).toEqual({ ...endpoint, lists: 3, generation: 0 })
  const highest = { ...endpoint, port: 65_535, generation: 0xffff_ffff, lists: 0xffff }
  expect(layout.decodeEndpoint(layout.encodeEndpoint(highest))).toEqual(highest)
})

test('counters are numbers', () => {
  const stats = Buffer.alloc(64)
  stats.writeBigUInt64LE(5_000_000_000n, 32)
  for (const [value, at] of [
    [2, 40],
    [3, 48],
    [4, 56],
    [5, 60],
  ] as const)
    stats.writeUInt32LE(value, at)
  const expected = { connections: 5_000_000_000, turn: 2, refused: 3, passed: 4, retries: 5 }
  expect(layout.decodeServiceStats(stats, 32)).toEqual(expected)
  expect(layout.decodeEndpointStats(stats, 32)).toEqual({ picked: 5_000_000_000, udpConnects: 2 })
})

test('a remembered endpoint is read', () => {
  const records = Buffer.from(`${'00'.repeat(16)}02000000030000000400000000000000`, 'hex')
  expect(layout.decodeAffinity(records, 16)).toEqual({ endpoint: 2, generation: 3, lastUse: 4n })
})

test('the config is read as it was written', () => {
  const config = {
    hostNetns: 1n,
    leaseUntil: 2n ** 64n - 1n,
    udpIdle: 30_000_000_000n,
    flags: layout.configFlags.tcp | layout.configFlags.udpSend,
    layout: layout.layoutVersion,
    owner: 0xdead_beef_dead_beefn,
    nextGeneration: 0xffff_ffff,
    digest: new Uint8Array(layout.digestSize).fill(7),
  }
  expect(layout.decodeConfig(layout.encodeConfig(config))).toEqual(config)
  const whole = { ...config, digest: new Uint8Array(32).fill(7) }
  expect(layout.decodeConfig(layout.encodeConfig(whole))).toEqual(config)
})

test('stale sockets are read if there was room for all', () => {
  const stale = Buffer.alloc(3 * layout.layout.staleReport.size)
  expect(layout.decodeStaleReports(stale)).toEqual([])
  stale.set(layout.encodeStaleSearch({ mask: 5n, bits: 4n }))
  expect([0, 8, 16].map((at) => stale.readBigUInt64LE(at))).toEqual([0n, 5n, 4n])
  stale.writeBigUInt64LE(2n, 0)
  stale.writeBigUInt64LE(11n, 56)
  stale.writeBigUInt64LE(12n, 64)
  stale.set(addressBytes('10.64.0.9'), 72)
  stale.set(addressBytes('10.96.0.10'), 88)
  stale.writeUInt16BE(5353, 104)
  stale.writeUInt16BE(53, 106)
  stale.writeUInt32LE(0xc300_0005, 108)
  const [report, ...others] = layout.decodeStaleReports(stale) ?? []
  expect(report).toEqual({
    cookie: 11n,
    netns: 12n,
    ip: '10.64.0.9',
    port: 5353,
    asked: { ip: '10.96.0.10', port: 53 },
    target: { service: 5, list: 'external' },
    layout: 3,
    protocol: 'UDP',
  })
  expect(others).toHaveLength(1)
  expect(others[0]?.protocol).toBe('TCP')
  stale.writeBigUInt64LE(3n, 0)
  expect(layout.decodeStaleReports(stale)).toBeUndefined()
})
