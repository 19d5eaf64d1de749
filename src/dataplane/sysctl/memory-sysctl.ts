/** Settings that exist only in memory. It refuses what the kernel refuses. */
import { SysctlError } from './sysctl.ts'
import type { Sysctl } from './sysctl.ts'

export class MemorySysctl implements Sysctl {
  readonly #valueByPath: Map<string, string>
  /** Each write as `path=value`. */
  readonly writes: string[] = []
  /** Makes every write fail, as on a read-only mount. */
  refuseWith: SysctlError['reason'] | undefined

  constructor(values: Readonly<Record<string, string>>) {
    this.#valueByPath = new Map(Object.entries(values))
  }

  read(path: string): Promise<string | undefined> {
    return Promise.resolve(this.#valueByPath.get(path))
  }

  async write(path: string, value: string): Promise<void> {
    if (this.refuseWith !== undefined)
      throw new SysctlError(this.refuseWith, `cannot set ${path} to ${value}: writes are refused (${this.refuseWith})`)
    if (!this.#valueByPath.has(path))
      throw new SysctlError('not-found', `cannot set ${path} to ${value}: there is no such setting`)
    this.#valueByPath.set(path, value)
    this.writes.push(`${path}=${value}`)
  }
}
