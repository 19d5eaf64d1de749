/** Being a service of Windows: its service control manager (SCM) starts the process, is told its state, and asks it to stop. */

export interface ServiceManager {
  /**
   * Tells the manager that this process is the service that it has just started. Rejects with a WindowsServiceError if the
   * manager has started no such thing. Afterwards it waits for reports.
   */
  connect(onStop: (why: StopControl) => void): Promise<ManagedService>
}

/** `preshutdown` comes before `shutdown`, and leaves more time. */
export type StopControl = 'stop' | 'shutdown' | 'preshutdown'

export interface ManagedService {
  report(status: ServiceStatus): void
  /** Resolves when the manager has taken note that the service has stopped. */
  readonly released: Promise<void>
}

export type ServiceStatus =
  | {
      readonly state: 'start-pending' | 'stop-pending'
      /** Grows with every report, or the manager takes the process for hung. */
      readonly checkpoint: number
      /** The next report comes within this time. */
      readonly waitHintMs: number
    }
  /** From here on it can be asked to stop. */
  | { readonly state: 'running' }
  /** The process ends by itself. With an exit code other than 0 the manager notes a failure. */
  | { readonly state: 'stopped'; readonly exitCode: number }

export class WindowsServiceError extends Error {
  override readonly name = 'WindowsServiceError'
  readonly reason: 'not-a-service' | 'failed'

  constructor(reason: WindowsServiceError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
