/** Breaks one call of a sync. */
import type { DoorCall, DoorCalls } from './door-calls.ts'

export const troubles = ['fails', 'is done, but fails', 'is aborted', 'is done, but aborted'] as const
export type Trouble = (typeof troubles)[number]

export class Spoiler {
  readonly #calls: DoorCalls
  readonly #trouble: Trouble
  readonly #number: number
  /** The call that was broken; undefined when the sync did not come to so many. */
  call: DoorCall | undefined
  /** The sync failed because of it. */
  hasFailed = false

  /** The first call has the number 0. */
  constructor(calls: DoorCalls, trouble: Trouble, number: number) {
    this.#calls = calls
    this.#trouble = trouble
    this.#number = number
  }

  async spoil(sync: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const reason = new Error('the test broke this call')
    const stop = new AbortController()
    const calls = this.#calls
    const number = calls.count + this.#number
    const breakIt = (call: DoorCall, at: number) => {
      if (at !== number) return
      this.call = call
      if (this.#trouble.endsWith('fails')) throw reason
      stop.abort(reason)
    }
    if (this.#trouble.startsWith('is done')) calls.after = breakIt
    else calls.before = breakIt
    try {
      await sync(stop.signal)
    } catch (error) {
      if (error !== reason) throw error
      this.hasFailed = true
    } finally {
      calls.before = () => {}
      calls.after = () => {}
    }
  }
}
