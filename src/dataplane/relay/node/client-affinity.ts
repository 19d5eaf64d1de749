/**
 * Which endpoint each client used last. The Map is in the order of last use (a refreshed client moves to the end), so
 * expired clients are always first, and forgetting them needs neither a timer nor a walk.
 */
import type { Clock } from '../../../core/clock.ts'

/** Far above what a Service sees in one timeout; keeps a flood of spoofed clients from using up the memory. */
const maxClients = 100_000

export class ClientAffinity {
  readonly #clock: Clock
  readonly #recordsByClient = new Map<string, { readonly endpoint: string; readonly usedAtMs: number }>()
  #timeoutMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isActive(): boolean {
    return this.#timeoutMs > 0
  }

  get size(): number {
    return this.#recordsByClient.size
  }

  setTimeoutSeconds(seconds: number): void {
    this.#timeoutMs = seconds * 1000
    if (seconds === 0) this.#recordsByClient.clear()
  }

  /** The endpoint this client must use, if it came back in time. */
  find(client: string): string | undefined {
    this.#forgetExpired()
    return this.#recordsByClient.get(client)?.endpoint
  }

  /** The client uses this endpoint now: its time starts anew. */
  remember(client: string, endpoint: string): void {
    if (!this.isActive) return
    this.#forgetExpired()
    this.#recordsByClient.delete(client)
    this.#recordsByClient.set(client, { endpoint, usedAtMs: this.#clock.monotonic() })
    if (this.#recordsByClient.size > maxClients) this.#forgetOldest()
  }

  forget(client: string, endpoint: string): void {
    if (this.#recordsByClient.get(client)?.endpoint === endpoint) this.#recordsByClient.delete(client)
  }

  forgetEndpoints(gone: ReadonlySet<string>): void {
    for (const [client, record] of this.#recordsByClient)
      if (gone.has(record.endpoint)) this.#recordsByClient.delete(client)
  }

  #forgetExpired(): void {
    const expired = this.#clock.monotonic() - this.#timeoutMs
    for (const [client, record] of this.#recordsByClient) {
      if (record.usedAtMs > expired) return
      this.#recordsByClient.delete(client)
    }
  }

  #forgetOldest(): void {
    for (const client of this.#recordsByClient.keys()) {
      this.#recordsByClient.delete(client)
      return
    }
  }
}
