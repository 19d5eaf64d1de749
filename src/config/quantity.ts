/** A size as Kubernetes writes it: 512, 1k, 2Ki, 3e6. */
export interface Quantity {
  readonly bytes: number
  /** The canonical text: the largest suffix that needs no fraction. */
  readonly text: string
}

export const zeroQuantity: Quantity = { bytes: 0, text: '0' }

const decimalSuffixes = ['', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

export function parseQuantity(text: string): Quantity | undefined {
  const { number, suffix = '' } = /^(?<number>[-+]?(?:\d+\.?\d*|\.\d+))(?<suffix>.*)$/.exec(text)?.groups ?? {}
  if (number === undefined) return undefined
  const exponent = /^[eE]([-+]?\d+)$/.exec(suffix)
  const isBinary = suffix.endsWith('i')
  const power = (isBinary ? binarySuffixes : decimalSuffixes).indexOf(suffix)
  if (exponent === null && power < 0) return undefined
  const unit = exponent === null ? (isBinary ? 1024 : 1000) ** power : 10 ** Number(exponent[1])
  // Part of a byte is rounded away from zero, as Kubernetes does when it is asked for whole units.
  const size = Number(number) * unit
  const bytes = size < 0 ? Math.floor(size) : Math.ceil(size)
  if (!Number.isSafeInteger(bytes)) return undefined
  return { bytes, text: exponent === null ? canonical(bytes, isBinary) : canonicalExponent(bytes) }
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
