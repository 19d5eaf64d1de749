import type { DialFailure } from './relay.ts'

/** What an attempt meets that is given up for lack of an answer; the kernel's own patience ends in the same. */
export const timedOutCode = 'ETIMEDOUT'

const reasons: Readonly<Record<string, DialFailure>> = {
  ECONNREFUSED: 'refused',
  [timedOutCode]: 'timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
}

/** In the words of a counter, so that there are few. */
export function dialFailureOf(error: unknown): DialFailure {
  return reasons[errorCode(error)] ?? 'other'
}

/** `ECONNREFUSED` and the like. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
