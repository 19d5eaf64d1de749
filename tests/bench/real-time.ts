/** Other work on the machine must not count as time of what is measured, so that goes first. */
import { execFileSync } from 'node:child_process'

/** Above all usual processes, and below those of the kernel. */
const measured = '10'
const looking = '20'

/** This process, and those that it starts from now on, run ahead of all others. */
export class RealTime implements Disposable {
  constructor() {
    try {
      schedule('--all-tasks', '--rr', '--pid', measured)
    } catch (cause) {
      throw new Error('nothing can be measured at real-time priority: it takes root, or CAP_SYS_NICE, and `chrt`', {
        cause,
      })
    }
  }

  [Symbol.dispose](): void {
    schedule('--all-tasks', '--other', '--pid', '0')
  }
}

/** Who looks for an effect, for microseconds at a time, does not wait for those who are measured. It starts nothing meanwhile. */
export class Lookout implements Disposable {
  constructor() {
    schedule('--rr', '--pid', looking)
  }

  [Symbol.dispose](): void {
    schedule('--rr', '--pid', measured)
  }
}

/** Without `--all-tasks`, the main thread of this process. */
function schedule(...options: readonly string[]): void {
  execFileSync('chrt', [...options, String(process.pid)], { stdio: 'pipe' })
}
