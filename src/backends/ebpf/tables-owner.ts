/**
 * What this process tells the programs besides the tables, and whether it is still the one that writes: a process that
 * starts puts its number there, and whoever wrote before finds it, and ends. Processes that hand over to each other do not
 * get so far; this is for those that cannot see each other.
 */
import type { Clock } from '../../core/clock.ts'
import { configSteps, leaseStep } from './config-steps.ts'
import type { SocketMaps } from './found-tables.ts'
import { decodeLeaseUntil, decodeOwner } from './layout.ts'
import type { SocketSettings } from './settings.ts'
import type { Step } from './steps.ts'

export interface TablesOwnerOptions {
  readonly settings: SocketSettings
  /** Of the object that the programs come from. */
  readonly digest: Uint8Array
  /** A random number, which tells this process from others. */
  readonly owner: bigint
  /** The clock of the programs, in nanoseconds. */
  readonly kernelNow: () => bigint
  readonly clock: Pick<Clock, 'monotonic'>
}

/** Another process writes the tables now, so this one must end: the last one wins. */
export class TakenOverError extends Error {
  override readonly name = 'TakenOverError'
}

type ConfigMap = Pick<SocketMaps, 'config'>

export class TablesOwner {
  readonly #options: TablesOwnerOptions
  #settings: SocketSettings
  readonly #takenOver = new AbortController()
  #leaseAtMs = -Infinity
  #leaseUntil = 0n

  constructor(options: TablesOwnerOptions) {
    this.#options = options
    this.#settings = options.settings
  }

  /** Aborts with a TakenOverError. */
  get takenOver(): AbortSignal {
    return this.#takenOver.signal
  }

  isOwnerOf({ config }: ConfigMap): boolean {
    return decodeOwner(config.bytes) === this.#options.owner
  }

  assertOwnerOf(maps: ConfigMap): void {
    this.noteOwnerOf(maps)
    this.takenOver.throwIfAborted()
  }

  /** Aborts `takenOver` if it is another process. */
  noteOwnerOf(maps: ConfigMap): void {
    if (this.isOwnerOf(maps)) return
    this.#takenOver.abort(new TakenOverError('another Fairlead has taken over the sockets of this node: this one ends'))
  }

  /** What differs from what this process wants. */
  configSteps({ config }: ConfigMap): readonly Step[] {
    const { digest, owner } = this.#options
    return configSteps(config.bytes, { settings: this.#settings, digest, owner })
  }

  /** None while the lease is young, and as this process wrote it. */
  leaseSteps({ config }: ConfigMap): readonly Step[] {
    const { kernelNow, clock } = this.#options
    const now = clock.monotonic()
    if (now - this.#leaseAtMs < renewAfterMs && decodeLeaseUntil(config.bytes) === this.#leaseUntil) return []
    const step = leaseStep(this.#settings.leaseMs, kernelNow())
    this.#leaseAtMs = now
    this.#leaseUntil = step.word
    return [step]
  }

  /** Whose connected datagram sockets get endpoints. */
  get udpConnect(): SocketSettings['udpConnect'] {
    return this.#settings.udpConnect
  }

  /** From the next configuration on. */
  passUdpConnects(which: 'of everybody' | 'of pods'): void {
    const { udpConnect } = this.#settings
    if (which === 'of everybody') this.#settings = { ...this.#settings, udpConnect: 'none' }
    else if (udpConnect === 'all') this.#settings = { ...this.#settings, udpConnect: 'host' }
  }
}

/** Programs give up after minutes. */
const renewAfterMs = 30_000
