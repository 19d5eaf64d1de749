/** Keeps a proxy from writing while another one takes over: there must never be two that write. */
import type { Backend } from '../../core/backend.ts'
import { endingWith } from '../modes/ending-with.ts'

export class SyncGate {
  #running = 0
  #isClosed = false
  /** Told when something has ended or begun. */
  readonly #waiting = new Set<() => void>()
  readonly #closings: (() => void)[] = []
  readonly #openings: (() => void)[] = []

  /** Runs the work once the gate is open; rejects when the signal aborts first. */
  async pass<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#until(() => !this.#isClosed, signal)
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
      this.#tell()
    }
  }

  /** Nothing runs behind it when this resolves. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const onClose of this.#closings) onClose()
    await this.#until(() => this.#running === 0)
  }

  /** Nobody else writes any more. */
  open(): void {
    this.#isClosed = false
    for (const onOpen of this.#openings) onOpen()
    this.#tell()
  }

  /**
   * `close` is called as soon as the gate is closed, while a sync may still run; `open` before the syncs that waited go on.
   */
  onTurn({ close, open }: { readonly close: () => void; readonly open: () => void }): void {
    this.#closings.push(close)
    this.#openings.push(open)
  }

  async #until(isSo: () => boolean, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    while (!isSo())
      await new Promise<void>((resolve, reject) => {
        const end = (settle: () => void) => {
          this.#waiting.delete(look)
          signal?.removeEventListener('abort', stop)
          settle()
        }
        const look = () => end(resolve)
        const stop = () => end(() => reject(signal?.reason as Error))
        this.#waiting.add(look)
        signal?.addEventListener('abort', stop)
      })
  }

  #tell(): void {
    for (const look of this.#waiting) look()
  }
}

/** The backend, whose syncs wait while the gate is closed. When it opens again, the data plane is the backend's own. */
export function gated(backend: Backend, gate: SyncGate): Backend {
  gate.onTurn({ close: () => backend.stepAside?.(), open: () => backend.reclaim?.() })
  return {
    ...endingWith(backend),
    sync: (view, change, signal, span) => gate.pass(() => backend.sync(view, change, signal, span), signal),
  }
}
