import { expect, test } from 'vitest'
import { parseElements } from './element-json.ts'
import type { SetDeclaration } from '../nft.ts'

const verdicts: SetDeclaration = { name: 'm', key: ['inet_proto', 'inet_service'], value: 'verdict', comment: '' }

function printed(kind: 'set' | 'map', elem: unknown): string {
  return JSON.stringify({ nftables: [{ metainfo: { json_schema_version: 1 } }, { [kind]: { name: 'm', elem } }] })
}

test('reads keys with and without a comment or a counter', () => {
  const elements = parseElements(
    verdicts,
    printed('map', [
      [{ elem: { val: { concat: ['udp', 53] }, comment: 'ns/x:dns' } }, { goto: { target: 'c' } }],
      [{ elem: { val: { concat: ['tcp', 53] }, counter: { packets: 7, bytes: 400 } } }, { jump: { target: 'd' } }],
      [{ concat: ['sctp', 53] }, { drop: null }],
    ]),
  )
  expect([...elements]).toEqual([
    ['udp . 53', { value: 'goto c', packets: 0 }],
    ['tcp . 53', { value: 'jump d', packets: 7 }],
    ['sctp . 53', { value: 'drop', packets: 0 }],
  ])
})

test('knows protocols by number, as nft prints them where /etc/protocols is missing', () => {
  const numbers = [6, '17', 132, 1].map((protocol) => [{ concat: [protocol, 80] }, { drop: null }])
  expect([...parseElements(verdicts, printed('map', numbers)).keys()]).toEqual([
    'tcp . 80',
    'udp . 80',
    'sctp . 80',
    '1 . 80',
  ])
})

test('reads a port 6 as a port, not as a protocol', () => {
  const ports: SetDeclaration = { name: 'm', key: ['inet_service'], comment: '' }
  expect([...parseElements(ports, printed('set', [6, 17])).keys()]).toEqual(['6', '17'])
})

test('reads prefixes, ranges and addresses in canonical form', () => {
  const ranges: SetDeclaration = { name: 'm', key: ['ipv6_addr'], isInterval: true, comment: '' }
  const elem = [{ prefix: { addr: '::10.0.0.0', len: 104 } }, { range: ['fd00::1', 'fd00::3'] }, '::ffff:1.2.3.4']
  expect([...parseElements(ranges, printed('set', elem)).keys()]).toEqual([
    '::a00:0/104',
    'fd00::1-fd00::3',
    '::ffff:102:304',
  ])
})

test('an empty set has no list at all', () => {
  expect(parseElements(verdicts, printed('map', undefined))).toEqual(new Map())
})

test('says what it does not understand', () => {
  expect(() => parseElements(verdicts, '{"nftables": []}')).toThrow('unexpected')
  expect(() => parseElements(verdicts, printed('map', ['tcp']))).toThrow('"tcp"')
  expect(() => parseElements(verdicts, printed('map', [[{ what: 1 }, { drop: null }]]))).toThrow('{"what":1}')
})
