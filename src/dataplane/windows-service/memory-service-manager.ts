import { WindowsServiceError } from './windows-service.ts'
import type { ManagedService, ServiceManager, ServiceStatus, StopControl } from './windows-service.ts'

/** A service control manager that starts one service, notes what it reports, and passes on controls as Windows does. */
export class MemoryServiceManager implements ServiceManager {
  readonly reports: ServiceStatus[] = []
  /** False: the process was started by hand. */
  readonly #hasStartedIt: boolean
  #onStop: ((why: StopControl) => void) | undefined
  #release: (() => void) | undefined

  constructor({ hasStartedIt = true }: { readonly hasStartedIt?: boolean } = {}) {
    this.#hasStartedIt = hasStartedIt
  }

  connect(onStop: (why: StopControl) => void): Promise<ManagedService> {
    if (!this.#hasStartedIt)
      return Promise.reject(new WindowsServiceError('not-a-service', 'nobody has started this as a service'))
    this.#onStop = onStop
    this.reports.push({ state: 'start-pending', checkpoint: 0, waitHintMs: 30_000 })
    const released = new Promise<void>((resolve) => (this.#release = resolve))
    return Promise.resolve({ report: (status) => this.#note(status), released })
  }

  get state(): ServiceStatus['state'] {
    return this.reports.at(-1)?.state ?? 'stopped'
  }

  /** Only a running service accepts controls. */
  control(why: StopControl): void {
    if (this.state !== 'running') throw new Error(`the service does not accept "${why}" while it is ${this.state}`)
    this.#onStop?.(why)
  }

  #note(status: ServiceStatus): void {
    const last = this.reports.at(-1)
    if (last?.state === 'stopped') throw new Error(`the service has stopped, and says ${status.state} now`)
    if (last?.state === status.state && 'checkpoint' in last && 'checkpoint' in status)
      if (status.checkpoint <= last.checkpoint) throw new Error('the checkpoint has not grown: the manager gives up')
    this.reports.push(status)
    if (status.state === 'stopped') this.#release?.()
  }
}
