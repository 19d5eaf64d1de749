/**
 * When a connection that is too old may end. Nothing here knows what it carries, so the moment is chosen by silence: best after an
 * answer, when the client waits for nothing. The longer it is overdue, the shorter a silence will do; at twice its age it
 * ends in any case. The native engine does the same in `age.c`.
 */

/** Ages differ by up to a tenth in either direction, so that connections that began together do not end together. */
const jitter = 0.1
const stages = 8
/** In the first stage, after an answer; half as long in each that follows. */
const longestQuietMs = 1_000
/** Where the client was the last to send, somebody may still work for it. So it is long, and not before half of the grace. */
const unansweredQuietMs = 5_000

export function jittered(ageMs: number, random: () => number): number {
  return ageMs * (1 - jitter + 2 * jitter * random())
}

/** How long a client has to close a connection that was closed towards it. */
export const leaveTimeoutMs = 5_000

export interface AgedConnection {
  /** When it reached its age. */
  readonly dueMs: number
  readonly graceMs: number
  /** When the last byte moved. */
  readonly movedMs: number
  /** The endpoint was the last to send. */
  readonly isAnswered: boolean
  /** Both directions are open, and nothing is on its way in the relay. */
  readonly canEnd: boolean
}

export type AgeStep =
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** Gently: closed towards the client. */
  | { readonly kind: 'end' }
  | { readonly kind: 'cut' }

export function ageStep({ dueMs, graceMs, movedMs, isAnswered, canEnd }: AgedConnection, nowMs: number): AgeStep {
  const overdueMs = nowMs - dueMs
  if (overdueMs < 0) return { kind: 'wait', untilMs: dueMs }
  const quietMs = nowMs - movedMs
  if (overdueMs >= graceMs) return { kind: canEnd && quietMs >= longestQuietMs ? 'end' : 'cut' }
  const stage = Math.floor((stages * overdueMs) / graceMs)
  const answeredQuietMs = longestQuietMs / 2 ** stage
  const isHalfway = 2 * overdueMs >= graceMs
  const isQuiet = quietMs >= (isAnswered ? answeredQuietMs : unansweredQuietMs) && (isAnswered || isHalfway)
  if (canEnd && isQuiet) return { kind: 'end' }
  const soonestMs = isAnswered && canEnd ? movedMs + answeredQuietMs : nowMs + answeredQuietMs
  return { kind: 'wait', untilMs: Math.min(soonestMs, dueMs + ((stage + 1) * graceMs) / stages) }
}
