/** Exact chances: one in three and two thirds of a half are the same. */
export interface Fraction {
  readonly over: number
  readonly under: number
}

export const certain: Fraction = { over: 1, under: 1 }
export const impossible: Fraction = { over: 0, under: 1 }

export function oneIn(choices: number): Fraction {
  return { over: 1, under: choices }
}

export function allBut({ over, under }: Fraction): Fraction {
  return { over: under - over, under }
}

export function times(left: Fraction, right: Fraction): Fraction {
  return reduced(left.over * right.over, left.under * right.under)
}

export function plus(left: Fraction, right: Fraction): Fraction {
  return reduced(left.over * right.under + right.over * left.under, left.under * right.under)
}

export function reduced(over: number, under: number): Fraction {
  const divisor = greatestCommonDivisor(over, under)
  return { over: over / divisor, under: under / divisor }
}

function greatestCommonDivisor(left: number, right: number): number {
  return right === 0 ? left : greatestCommonDivisor(right, left % right)
}
