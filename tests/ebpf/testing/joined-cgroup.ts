/** This process in a cgroup, for as long as it is not disposed of: sockets belong to the cgroup that they were made in. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export class JoinedCgroup implements Disposable {
  readonly #home: string

  /** `mount` is where cgroup v2 is mounted. */
  constructor(cgroup: string, mount: string) {
    const line = readFileSync('/proc/self/cgroup', 'utf8')
      .split('\n')
      .find((text) => text.startsWith('0::'))
    this.#home = join(mount, line?.slice('0::'.length) ?? '/')
    enter(cgroup)
  }

  [Symbol.dispose](): void {
    enter(this.#home)
  }
}

function enter(cgroup: string): void {
  writeFileSync(join(cgroup, 'cgroup.procs'), String(process.pid))
}
