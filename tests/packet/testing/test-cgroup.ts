/**
 * A cgroup of the test's own, for programs at sockets: those of a process' cgroup at the time when it made the socket. The
 * test makes the sockets of all hosts, so it goes there and back for each.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export class TestCgroup implements AsyncDisposable {
  static #made = 0
  readonly path: string
  readonly #home: string

  constructor() {
    const root = cgroup2Root()
    if (root === undefined) throw new Error('cgroup v2 is not mounted')
    this.path = join(root, `fairlead-test-${process.pid}-${TestCgroup.#made++}`)
    this.#home = join(root, homeOfThisProcess())
    mkdirSync(this.path)
  }

  /** Sockets and processes that the work makes at once belong to it. */
  enter<T>(work: () => T): T {
    moveTo(this.path)
    try {
      return work()
    } finally {
      moveTo(this.#home)
    }
  }

  /** The kernel needs a moment to forget processes that have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (let tries = 0; ; tries++)
      try {
        return rmdirSync(this.path)
      } catch (error) {
        if (tries === 100) throw error
        await sleep(50)
      }
  }
}

/** Why there can be none, or undefined when there can. */
export function cgroupProblem(): string | undefined {
  return cgroup2Root() === undefined ? 'cgroup v2 is not mounted' : undefined
}

function cgroup2Root(): string | undefined {
  const mount = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((line) => line.includes(' - cgroup2 '))
  return mount?.split(' ')[4]
}

function homeOfThisProcess(): string {
  return /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/'
}

function moveTo(folder: string): void {
  writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
}
