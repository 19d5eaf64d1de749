/** Tells the kernel how early it should kill this process when memory runs out. */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Sysctl } from './sysctl.ts'

export interface OomScore {
  /** From -1000 (never) to 1000 (first). */
  readonly score: number
  /** /proc/self */
  readonly self: Sysctl
  readonly clock: Clock
  readonly log: Logger
}

const attempts = 2
const pauseMs = 100

/** A failure is only logged: a proxy that the kernel may kill is better than none. */
export async function setOomScore({ score, self, clock, log }: OomScore, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await self.write('oom_score_adj', String(score))
    } catch (error) {
      if (attempt === attempts) return log.warn('the OOM score could not be set', { score, error })
    }
    await clock.sleep(pauseMs, signal)
  }
}
