/** Other work on the machine must not count as time of what is measured, so that goes first. */
import { execFileSync } from 'node:child_process'

/** Above all usual processes, and below those of the kernel. */
const priority = '10'

/** This process, and those that it starts from now on, run ahead of all others. */
export class RealTime implements Disposable {
  constructor() {
    try {
      schedule('--rr', priority)
    } catch (cause) {
      throw new Error('nothing can be measured at real-time priority: it takes root, or CAP_SYS_NICE, and `chrt`', {
        cause,
      })
    }
  }

  [Symbol.dispose](): void {
    schedule('--other', '0')
  }
}

function schedule(...policy: readonly [kind: string, priority: string]): void {
  execFileSync('chrt', ['--all-tasks', policy[0], '--pid', policy[1], String(process.pid)], { stdio: 'pipe' })
}
