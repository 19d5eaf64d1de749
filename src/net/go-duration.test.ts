import assert from 'node:assert/strict'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  msFromNs,
  nsFromMs,
  parseGoDuration,
  parseGoDurationNs,
  renderGoDuration,
  renderGoDurationNs,
} from './go-duration.ts'

/** Recorded from time.ParseDuration and Duration.String of Go 1.26: text, nanoseconds (or refused), rendered again. */
const recordedFromGo: readonly (readonly [string, bigint | undefined, string])[] = [
  ['0', 0n, '0s'],
  ['0s', 0n, '0s'],
  ['-0', 0n, '0s'],
  ['+5s', 5000000000n, '5s'],
  ['1ns', 1n, '1ns'],
  ['999ns', 999n, '999ns'],
  ['1us', 1000n, '1µs'],
  ['1µs', 1000n, '1µs'],
  ['1μs', 1000n, '1µs'],
  ['1.5us', 1500n, '1.5µs'],
  ['1ms', 1000000n, '1ms'],
  ['1.5ms', 1500000n, '1.5ms'],
  ['1.000001ms', 1000001n, '1.000001ms'],
  ['999.999999ms', 999999999n, '999.999999ms'],
  ['1s', 1000000000n, '1s'],
  ['1.5s', 1500000000n, '1.5s'],
  ['90s', 90000000000n, '1m30s'],
  ['1m', 60000000000n, '1m0s'],
  ['24h', 86400000000000n, '24h0m0s'],
  ['1h0m0s', 3600000000000n, '1h0m0s'],
  ['15m0s', 900000000000n, '15m0s'],
  ['1h2m3.004005006s', 3723004005006n, '1h2m3.004005006s'],
  ['-1.5h', -5400000000000n, '-1h30m0s'],
  ['1.h', 3600000000000n, '1h0m0s'],
  ['.5s', 500000000n, '500ms'],
  ['-.5s', -500000000n, '-500ms'],
  ['100h30m', 361800000000000n, '100h30m0s'],
  ['2540400h10m10.000000000s', 9145440610000000000n, '2540400h10m10s'],
  ['2562047h47m16.854775807s', 9223372036854775807n, '2562047h47m16.854775807s'],
  ['-2562047h47m16.854775808s', -9223372036854775808n, '-2562047h47m16.854775808s'],
  ['0.3333333333333333333h', 1200000000000n, '20m0s'],
  ['9007199254740993ns', 9007199254740993n, '2501h59m59.254740993s'],
  ['0.9223372036854775807h', 3320413933267n, '55m20.413933267s'],
  ['1h1h', 7200000000000n, '2h0m0s'],
  ['5m0.000000001s', 300000000001n, '5m0.000000001s'],
  ['0.100000000000000000000h', 360000000000n, '6m0s'],
  ['0.830103483285477580700h', 2988372539827n, '49m48.372539827s'],
  ['', undefined, ''],
  ['3', undefined, ''],
  ['-', undefined, ''],
  ['s', undefined, ''],
  ['.', undefined, ''],
  ['-.', undefined, ''],
  ['.s', undefined, ''],
  ['+.s', undefined, ''],
  ['1d', undefined, ''],
  ['1', undefined, ''],
  ['3000000h', undefined, ''],
  ['9223372036854775808ns', undefined, ''],
  ['-9223372036854775808ns', -9223372036854775808n, '-2562047h47m16.854775808s'],
  ['1e3s', undefined, ''],
  ['1 s', undefined, ''],
  [' 1s', undefined, ''],
  ['1S', undefined, ''],
  ['1hm', undefined, ''],
  ['9223372036854775.808us', undefined, ''],
  ['-9223372036854775.808us', -9223372036854775808n, '-2562047h47m16.854775808s'],
  ['9223372036.854775808s', undefined, ''],
  ['0.000000000001s', 0n, '0s'],
  ['1.s', 1000000000n, '1s'],
  ['12345678h', undefined, ''],
  ['+0', 0n, '0s'],
  ['--1s', undefined, ''],
]

for (const [text, nanoseconds, rendered] of recordedFromGo) {
  test(`the duration "${text}" ${nanoseconds === undefined ? 'is refused' : `is ${rendered}`}, as in Go`, () => {
    expect(parseGoDurationNs(text)).toBe(nanoseconds)
    expect(nanoseconds === undefined ? '' : renderGoDurationNs(nanoseconds)).toBe(rendered)
  })
}

test('digits beyond what 64 bits hold are ignored, however many there are', () => {
  expect(parseGoDurationNs(`0.${'3'.repeat(400)}s`)).toBe(333_333_333n)
})

test('every duration survives being written and read again', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanoseconds) => {
      assert.equal(parseGoDurationNs(renderGoDurationNs(nanoseconds)), nanoseconds)
    }),
  )
})

test('short durations survive being written and read again', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 10n), max: 10n ** 10n }), (nanoseconds) => {
      assert.equal(parseGoDurationNs(renderGoDurationNs(nanoseconds)), nanoseconds)
    }),
  )
})

test('up to 49 days, milliseconds hold a duration to the nanosecond', () => {
  const limit = 2n ** 32n * 1_000_000n
  fc.assert(
    fc.property(fc.bigInt({ min: -limit, max: limit }), (nanoseconds) => {
      assert.equal(nsFromMs(msFromNs(nanoseconds)), nanoseconds)
    }),
  )
})

test('a duration is milliseconds inside Fairlead', () => {
  expect(parseGoDuration('1m30s')).toBe(90_000)
  expect(parseGoDuration('1.5ms')).toBe(1.5)
  expect(parseGoDuration('soon')).toBeUndefined()
  expect(renderGoDuration(86_400_000)).toBe('24h0m0s')
  expect(renderGoDuration(0.0001)).toBe('100ns')
})

test.each([
  ['digits without a unit', '1'.repeat(100_000)],
  ['digits with a wrong end', `${'1'.repeat(100_000)}!`],
  ['a number that no duration has', `${'1'.repeat(100_000)}s`],
])('%s, as long as an annotation may be, cost nothing', (_, text) => {
  const start = performance.now()
  expect(parseGoDurationNs(text)).toBeUndefined()
  expect(performance.now() - start).toBeLessThan(100)
})
