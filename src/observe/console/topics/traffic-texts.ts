/** What each Service carries as JSON, kept while somebody looks, so that only numbers are sent that have changed. */
import type { ObjectKey } from '../../../api/records.ts'
import { serviceOfRoute } from '../../../core/route.ts'
import type { CarriedView } from '../../traffic/traffic-book.ts'
import { nextTurn } from './next-turn.ts'
import { secondsSince, TrafficSum } from './traffic-in-short.ts'

const perTurn = 500

export class TrafficTexts {
  readonly #textByService = new Map<ObjectKey, string>()

  of(service: ObjectKey): string | undefined {
    return this.#textByService.get(service)
  }

  /** Calls with each Service whose numbers are others now, or of which nothing is known any more. */
  async update(
    carried: readonly CarriedView[],
    signal: AbortSignal,
    onChange: (service: ObjectKey, isKnown: boolean) => void,
  ): Promise<void> {
    const pause = pausing()
    const sums = new Map<ObjectKey, TrafficSum>()
    for (const one of carried) {
      const seconds = secondsSince(one)
      for (const [key, traffic] of one.traffic) {
        const service = serviceOfRoute(key)
        let sum = sums.get(service)
        if (sum === undefined) sums.set(service, (sum = new TrafficSum()))
        sum.add(traffic, one.before?.traffic.get(key), seconds)
        await pause()
        if (signal.aborted) return
      }
    }
    for (const service of this.#textByService.keys())
      if (!sums.has(service)) {
        this.#textByService.delete(service)
        onChange(service, false)
      }
    for (const [service, sum] of sums) {
      const text = JSON.stringify(sum.inShort)
      if (this.#textByService.get(service) !== text) {
        this.#textByService.set(service, text)
        onChange(service, true)
      }
      await pause()
      if (signal.aborted) return
    }
  }
}

/** Now and then others get the event loop. */
function pausing(): () => Promise<void> | undefined {
  let left = perTurn
  return () => {
    if (--left > 0) return undefined
    left = perTurn
    return nextTurn()
  }
}
