/**
 * How the node is, known on every page: the menu tells of problems wherever the reader is. So every page has a stream, and
 * knows whom it talks to. A core has no such topic, and leaves it out.
 */
import { computed, signal } from '@preact/signals'
import type { Overview } from '../../src/observe/console/wire.ts'
import { RateHistory } from './rate-history.ts'
import { about, follow } from './live.ts'

/** What charts show. */
export const shownMs = 5 * 60_000

const known = signal<Overview | undefined>(undefined)
export const overview = computed(() => known.value)

/** Events per second, as long as this page is open. */
export const eventRates = new RateHistory(shownMs)
let processOfRates: string | undefined

export function followOverview(): () => void {
  return follow('overview', 'overview', (data) => {
    const process = about.peek()?.process
    if (process !== processOfRates) eventRates.clear()
    processOfRates = process
    eventRates.add(Date.parse(data.at), data.events)
    known.value = data
  })
}
