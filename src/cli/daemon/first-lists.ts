import type { Clock } from '../../core/clock.ts'

/** A server that nobody reads from gives up after a while, and a start may take long. */
const longestWaitMs = 2000

/**
 * The first lists of a large cluster take this thread a second or more to read. While the daemon examines the machine and
 * opens its backends, each of many small steps would wait its turn behind them, and nobody could program what was read.
 * So the lists are asked for at once, and read when the rest is ready.
 */
export class FirstLists {
  readonly mayBeRead: Promise<void>
  read: () => void = () => {}

  constructor(clock: Pick<Clock, 'sleep'>, signal: AbortSignal) {
    const asked = new Promise<void>((resolve) => (this.read = resolve))
    const waited = new AbortController()
    const until = AbortSignal.any([signal, waited.signal])
    this.mayBeRead = Promise.race([asked, clock.sleep(longestWaitMs, until).catch(() => {})])
    void this.mayBeRead.then(() => waited.abort())
  }
}
