/**
 * Go's duration texts (`30s`, `1h0m0s`, `1.5ms`), which Kubernetes uses for every period and timeout. The text is read
 * to the nanosecond, in the range of Go's 64 bits. Inside Fairlead a duration is a number of milliseconds, as usual in
 * JavaScript; that is exact to the nanosecond up to 49 days.
 */

const nanosecondsByUnit = new Map<string, bigint>([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n], // U+00B5, the micro sign
  ['μs', 1_000n], // U+03BC, the Greek letter, which Go accepts too
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])

const largest = 2n ** 63n - 1n

/** The longest that Go renders has 25 characters. Others write annotations, and they may be as long as 256 KiB. */
const longestText = 1_000

export function parseGoDuration(text: string): number | undefined {
  const nanoseconds = parseGoDurationNs(text)
  return nanoseconds === undefined ? undefined : msFromNs(nanoseconds)
}

export function renderGoDuration(ms: number): string {
  return renderGoDurationNs(nsFromMs(ms))
}

/** Returns nothing if the text is not a Go duration, is beyond 292 years or is far too long. */
export function parseGoDurationNs(text: string): bigint | undefined {
  if (text.length > longestText) return undefined
  const { sign, amounts } = /^(?<sign>[-+]?)(?<amounts>.*)$/s.exec(text)?.groups ?? {}
  if (amounts === undefined || amounts === '') return undefined
  if (amounts === '0') return 0n
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)[a-zµμ]+)+$/.test(amounts)) return undefined
  let total = 0n
  for (const [, whole = '', fraction = '', unit = ''] of amounts.matchAll(/(\d*)(?:\.(\d*))?([a-zµμ]+)/g)) {
    const scale = nanosecondsByUnit.get(unit)
    if (scale === undefined) return undefined
    total += BigInt(whole) * scale + partOf(scale, fraction)
  }
  const isNegative = sign === '-'
  if (total > largest + (isNegative ? 1n : 0n)) return undefined
  return isNegative ? -total : total
}

export function renderGoDurationNs(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  const sign = nanoseconds < 0n ? '-' : ''
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds
  if (size < 1_000n) return `${sign}${size}ns`
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}µs`
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`
  const minutes = size / 60_000_000_000n
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`
  if (minutes === 0n) return sign + seconds
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`
}

export function msFromNs(nanoseconds: bigint): number {
  const milliseconds = nanoseconds / 1_000_000n
  return Number(milliseconds) + Number(nanoseconds % 1_000_000n) / 1e6
}

/** Whole milliseconds are converted separately, because multiplying the whole number would lose digits. */
export function nsFromMs(ms: number): bigint {
  const whole = Math.trunc(ms)
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6))
}

/** Go computes the part after the point in floating point; an exact product would differ in the last digit. */
function partOf(scale: bigint, fraction: string): bigint {
  let digits = 0n
  let divisor = 1
  for (const digit of fraction) {
    const next = digits * 10n + BigInt(digit)
    if (next > largest) break // Go ignores what does not fit into 63 bits
    digits = next
    divisor *= 10
  }
  return digits === 0n ? 0n : BigInt(Math.trunc(Number(digits) * (Number(scale) / divisor)))
}

/** `size / 10^places` without trailing zeros. */
function decimal(size: bigint, places: number): string {
  const divisor = 10n ** BigInt(places)
  const fraction = (size % divisor).toString().padStart(places, '0').replace(/0+$/, '')
  return fraction === '' ? `${size / divisor}` : `${size / divisor}.${fraction}`
}
