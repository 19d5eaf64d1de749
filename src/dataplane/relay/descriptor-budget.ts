/**
 * Keeps the relay below the limit of open files. When no descriptor is left, libuv accepts connections and closes them
 * without reporting it. So the relay counts its sockets and turns clients away itself, while there is still room for
 * everything else the process has to open.
 */
import { readFileSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { Throttle } from './throttle.ts'

/** For the rest of the process: the API server's watch, log files, metrics. */
const reserved = 64
/** The rest is headroom for what is opened and closed in between. */
const usableShare = 0.9

export interface DescriptorBudgetOptions {
  /** How many files the process may open. */
  readonly limit: number
  readonly log: Logger
  readonly clock: Clock
  /** Threads share the descriptors of their process: each notes here what it uses. */
  readonly usedByThread?: Int32Array
  readonly thread?: number
}

export function budgetOf(limit: number): number {
  return Math.max(2, Math.floor((limit - reserved) * usableShare))
}

export function usedByAll(usedByThread: Int32Array): number {
  let sum = 0
  for (const used of usedByThread) sum += used
  return sum
}

/** TCP connections hold two descriptors, UDP flows and listeners one. */
export class DescriptorBudget {
  readonly budget: number
  readonly #limit: number
  readonly #log: Logger
  readonly #throttle: Throttle
  readonly #usedByThread: Int32Array
  readonly #thread: number

  constructor({ limit, log, clock, usedByThread = new Int32Array(1), thread = 0 }: DescriptorBudgetOptions) {
    this.#limit = limit
    this.budget = budgetOf(limit)
    this.#usedByThread = usedByThread
    this.#thread = thread
    this.#log = log
    this.#throttle = new Throttle(clock)
  }

  get used(): number {
    return usedByAll(this.#usedByThread)
  }

  /** If there is no room, the caller turns its client away. */
  tryTake(count: number, service: string): boolean {
    if (this.used + count > this.budget) {
      this.reportShortage(service)
      return false
    }
    this.take(count)
    return true
  }

  /** For what must be open even beyond the budget: connections are turned away before listeners are. */
  take(count: number): void {
    Atomics.add(this.#usedByThread, this.#thread, count)
  }

  giveBack(count: number): void {
    Atomics.sub(this.#usedByThread, this.#thread, count)
  }

  /** For when the process that used them has ended. */
  forgetAll(): void {
    Atomics.store(this.#usedByThread, this.#thread, 0)
  }

  /** The kernel itself said there is no descriptor left: others in the process use more than the reserve. */
  reportShortage(service: string): void {
    this.#throttle.run((silenced) =>
      this.#log.warn('clients are turned away: too many open connections', {
        service,
        used: this.used,
        budget: this.budget,
        openFilesLimit: this.#limit,
        alsoTurnedAway: silenced,
        fix:
          waysOut[process.platform] ??
          'raise the limit of open files (ulimit -n, LimitNOFILE= in systemd) or find the client that opens so many',
      }),
    )
  }
}

const waysOut: Partial<Record<NodeJS.Platform, string>> = {
  win32: 'find the client that opens so many; Windows has no limit, so this one keeps the process small',
}

/** What a system without /proc gets: little enough for the usual defaults of macOS. */
const assumedLimit = 10_000
/** Windows has none, but sockets take memory of its kernel. kube-proxy allowed itself as many on Linux. */
const windowsLimit = 64_000

/** How many files this process may open. Node has raised the soft limit to the hard one at its start. */
export function openFilesLimit(platform = process.platform): number {
  // There the path would be a folder of drive C, which every user may make.
  if (platform === 'win32') return windowsLimit
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? assumedLimit : Number(soft)
  } catch {
    return assumedLimit
  }
}

/** EMFILE: this process has no descriptor left; ENFILE: the machine has none. */
export function isOutOfDescriptors(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EMFILE' || code === 'ENFILE'
}
