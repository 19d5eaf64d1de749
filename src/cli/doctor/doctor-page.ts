/**
 * `/debug/doctor`: what `fairlead doctor` would find on this node, examined by the running proxy with its own settings. An
 * examination reads rules, processes and objects, so there is one at a time, with a long rest after it, and whoever asks
 * in between gets the last one.
 */
import type { Clock } from '../../core/clock.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { isAsked } from '../../observe/inspection/asked.ts'
import type { Examination } from './examine.ts'

export interface DoctorPageOptions {
  readonly node: string
  readonly mode: string
  readonly clock: Clock
  /** Of the proxy: an examination outlives the question that began it. */
  readonly signal: AbortSignal
  readonly examine: (signal: AbortSignal) => Promise<Examination>
}

/** What the page answers. Without `findings`, the first examination is still under way, or could not be done. */
export interface DoctorAnswer extends Partial<Examination> {
  readonly node: string
  readonly mode: string
  readonly isUnderWay: boolean
  readonly examinedAt?: string
  readonly tookMs?: number
  /** Why the last one could not be done. */
  readonly problem?: string
  /** Milliseconds until another one can be asked for. */
  readonly restMs: number
}

type Done = Pick<DoctorAnswer, 'examinedAt' | 'tookMs' | 'problem'> & Partial<Examination>

/** Shorter than the time that any server gives an answer. Who waited for so long is told to ask again. */
const waitMs = 10_000
const longestMs = 90_000
const shortestRestMs = 10_000
/** At most a tenth of the time is spent. */
const restPart = 9

export function doctorPage({ node, mode, clock, signal, examine }: DoctorPageOptions): DebugPage {
  let done: Done | undefined
  let underWay: Promise<void> | undefined
  let notBeforeMs = -Infinity

  const start = async () => {
    const startedAt = clock.monotonic()
    const examinedAt = new Date(clock.now()).toISOString()
    const [examination, problem] = await bounded(examine, clock, signal)
    const tookMs = Math.round(clock.monotonic() - startedAt)
    // What was found before says more than nothing.
    done = examination === undefined ? { ...done, problem } : { ...examination, examinedAt, tookMs }
    notBeforeMs = clock.monotonic() + Math.max(shortestRestMs, restPart * tookMs)
    underWay = undefined
  }

  return {
    path: '/debug/doctor',
    about: 'what fairlead doctor finds on this node; ?again=1 examines it again, if the last time is long enough ago',
    async answer({ query }, asking) {
      const isDue = done === undefined || isAsked(query, 'again')
      if (isDue && underWay === undefined && clock.monotonic() >= notBeforeMs) underWay = start()
      if (underWay !== undefined) await Promise.race([underWay, given(clock, asking)])
      const restMs = Math.max(0, Math.ceil(notBeforeMs - clock.monotonic()))
      const value: DoctorAnswer = {
        node,
        mode,
        isUnderWay: underWay !== undefined,
        restMs: Number.isFinite(restMs) ? restMs : 0,
        ...done,
      }
      return { kind: 'json', value }
    },
  }
}

function given(clock: Clock, asking: AbortSignal): Promise<void> {
  return clock.sleep(waitMs, asking).catch(() => {})
}

async function bounded(
  examine: DoctorPageOptions['examine'],
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly [Examination | undefined, string]> {
  const ended = new AbortController()
  const late = clock.sleep(longestMs, ended.signal).then(
    () => ended.abort(new Error(`it took longer than ${longestMs / 1000} s`)),
    () => {},
  )
  try {
    return [await examine(AbortSignal.any([signal, ended.signal])), '']
  } catch (error) {
    return [undefined, `the node could not be examined: ${error instanceof Error ? error.message : String(error)}`]
  } finally {
    ended.abort()
    await late
  }
}
