/** A size as Kubernetes writes it: 512, 1k, 2Ki, 3e6. */
export interface Quantity {
  readonly bytes: number
  /** Canonical: with the largest suffix that needs no fraction. A part of a byte keeps its thousandths, as `500m`. */
  readonly text: string
}

export const zeroQuantity: Quantity = { bytes: 0, text: '0' }

const decimalSuffixes = ['', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

export function parseQuantity(text: string): Quantity | undefined {
  const { size, suffix } = read(text) ?? {}
  if (size === undefined || suffix === undefined) return undefined
  // A part of a byte is rounded away from zero, as Kubernetes does for whole units.
  const bytes = size < 0 ? Math.floor(size) : Math.ceil(size)
  if (!Number.isSafeInteger(bytes)) return undefined
  if (size !== bytes) {
    const thousandths = Math.round(size * 1000)
    return Math.abs(size * 1000 - thousandths) < 1e-6 ? { bytes, text: `${thousandths}m` } : undefined
  }
  return {
    bytes,
    text: /^[eE]/.test(suffix) && suffix !== 'E' ? canonicalExponent(bytes) : canonical(bytes, suffix.endsWith('i')),
  }
}

/** It is one, but of more bytes than can be counted exactly. */
export function isTooLargeQuantity(text: string): boolean {
  return Math.abs(read(text)?.size ?? 0) > Number.MAX_SAFE_INTEGER
}

function read(text: string): { readonly size: number; readonly suffix: string } | undefined {
  const { number, suffix = '' } = /^(?<number>[-+]?(?:\d+\.?\d*|\.\d+))(?<suffix>.*)$/.exec(text)?.groups ?? {}
  const unit = unitOf(suffix)
  return number === undefined || unit === undefined ? undefined : { size: Number(number) * unit, suffix }
}

function unitOf(suffix: string): number | undefined {
  if (suffix === 'm') return 1 / 1000
  const exponent = /^[eE]([-+]?\d+)$/.exec(suffix)
  if (exponent !== null) return 10 ** Number(exponent[1])
  const isBinary = suffix.endsWith('i')
  const power = (isBinary ? binarySuffixes : decimalSuffixes).indexOf(suffix)
  return power < 0 ? undefined : (isBinary ? 1024 : 1000) ** power
}

function canonical(bytes: number, isBinary: boolean): string {
  const [base, suffixes] = isBinary ? [1024, binarySuffixes] : [1000, decimalSuffixes]
  const power = largestPower(bytes, base)
  return `${bytes / base ** power}${suffixes[power]}`
}

function canonicalExponent(bytes: number): string {
  const power = largestPower(bytes, 1000)
  return power === 0 ? String(bytes) : `${bytes / 1000 ** power}e${3 * power}`
}

function largestPower(bytes: number, base: number): number {
  if (bytes === 0) return 0
  return [6, 5, 4, 3, 2, 1].find((power) => bytes % base ** power === 0) ?? 0
}
