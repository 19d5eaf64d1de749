import { expect, test } from 'vitest'
import type { FlagType } from './flag.ts'
import * as type from './flag-types.ts'

const refused = 'refused'

/**
 * The value of each text, or that it is refused. kube-proxy 1.36.4 was run with each text (except for `ips`, which it
 * does not have) and accepts and refuses the same ones, except 12E: we refuse sizes beyond 2^53 bytes.
 */
const examples: readonly (readonly [label: string, FlagType<unknown>, Readonly<Record<string, unknown>>])[] = [
  ['bool', type.bool, { true: true, T: true, '1': true, False: false, '0': false, yes: refused, '': refused }],
  [
    'int32',
    type.int32,
    {
      '7': 7,
      '-7': -7,
      '+7': 7,
      '0x10': 16,
      '010': 8,
      '0o10': 8,
      '0b11': 3,
      '08': refused,
      '1.0': refused,
      '': refused,
      '2147483648': refused,
      '-2147483648': -2147483648,
    },
  ],
  ['float32', type.float32, { '5': 5, '.5': 0.5, '-1e3': -1000, '1e39': refused, x: refused, '': refused }],
  ['duration', type.duration, { '1m30s': 90_000, '0': 0, '-1s': -1000, '5': refused, '': refused }],
  [
    'strings',
    type.strings,
    { 'a,b': ['a', 'b'], 'a,': ['a', ''], '"a,b",c': ['a,b', 'c'], '"a""b"': ['a"b'], 'a"b': refused },
  ],
  ['ips', type.ips, { '1.2.3.4,::1': ['1.2.3.4', '::1'], '1.2.3': refused }],
  [
    'mapStringBool',
    type.mapStringBool,
    { 'A=true,B=0': { A: true, B: false }, ' A = true ': { A: true }, '': {}, A: refused, 'A=x': refused },
  ],
  [
    'ip',
    type.ip,
    { '1.2.3.4': '1.2.3.4', '010.1.1.1': '010.1.1.1', '::': '::', '': 'before', foo: refused, '1.2.3.4:5': refused },
  ],
  [
    'ipport',
    type.ipPort,
    {
      '1.2.3.4': '1.2.3.4',
      '1.2.3.4:0': '1.2.3.4:0',
      '[::1]:80': '[::1]:80',
      '::1': '::1',
      '': 'before',
      'host:80': refused,
      '1.2.3.4:65536': refused,
      '1.2.3.4:x': refused,
      '[::1]': refused,
    },
  ],
  ['level', type.level, { '0': 0, '2147483647': 2147483647, '2147483648': refused, '-1': refused, x: refused }],
  [
    'vmodule',
    type.vmodule,
    {
      'a=1,b*=2,': [
        { filePattern: 'a', verbosity: 1 },
        { filePattern: 'b*', verbosity: 2 },
      ],
      a: refused,
      '=1': refused,
      'a=1=2': refused,
    },
  ],
  [
    'quantity',
    type.quantity,
    {
      '0': { bytes: 0, text: '0' },
      '2Ki': { bytes: 2048, text: '2Ki' },
      '1024Ki': { bytes: 1048576, text: '1Mi' },
      '1.5Ki': { bytes: 1536, text: '1536' },
      '1500': { bytes: 1500, text: '1500' },
      '2000k': { bytes: 2000000, text: '2M' },
      '3e3': { bytes: 3000, text: '3e3' },
      '0.5': { bytes: 1, text: '500m' },
      '100m': { bytes: 1, text: '100m' },
      '1500m': { bytes: 2, text: '1500m' },
      '2000m': { bytes: 2, text: '2' },
      '12E': refused,
      '1K': refused,
      '': refused,
    },
  ],
]

for (const [label, flagType, valuesByText] of examples) {
  for (const [text, expected] of Object.entries(valuesByText)) {
    test(`a ${label} flag ${expected === refused ? 'refuses' : 'reads'} "${text}"`, () => {
      const parsed = flagType.parse(text, { value: earlierValue(label), isDefault: true })
      expect(parsed.ok ? parsed.value : refused).toEqual(expected)
    })
  }
}

test('gates and vmodule items of several uses add up', () => {
  expect(type.mapStringBool.parse('B=true', { value: { A: true }, isDefault: false })).toEqual({
    ok: true,
    value: { A: true, B: true },
  })
  const first = { filePattern: 'a', verbosity: 1 }
  expect(type.vmodule.parse('b=2', { value: [first], isDefault: false })).toEqual({
    ok: true,
    value: [first, { filePattern: 'b', verbosity: 2 }],
  })
})

function earlierValue(label: string): unknown {
  return label === 'ip' || label === 'ipport' ? 'before' : []
}
