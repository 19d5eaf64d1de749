import { AsyncLocalStorage } from 'node:async_hooks'

/** Stands between a backend and the doors of its data plane: it counts the calls, and can spoil them. */
export interface DoorCall {
  readonly door: string
  readonly method: string
  readonly args: readonly unknown[]
}

/** One for all: Node.js keeps each that was ever used, and asks all of them at every promise. */
const uncounted = new AsyncLocalStorage<DoorCalls>()

export class DoorCalls {
  /** How many calls there have been. */
  count = 0
  /** Before each call, with its number. What it throws is what the backend gets, and the call is not done. */
  before: (call: DoorCall, number: number) => void = () => {}
  /** After each call. What it throws is what the backend gets, although the call is done. */
  after: (call: DoorCall, number: number) => void = () => {}
  /** When a call is done, before the backend learns of it. */
  atEachMoment: (call: DoorCall) => Promise<void> | void = () => {}

  /** What the work does through the doors is no call: that of a watch, beside the sync that is looked at. */
  uncounted<T>(work: () => T): T {
    return uncounted.run(this, work)
  }

  /** The door as the backend gets it. Only these methods are calls; unless they are named, all are. */
  through<D extends object>(name: string, door: D, methods?: readonly (keyof D & string)[]): D {
    return new Proxy(door, {
      get: (target, property) => {
        // The doors have private fields, so their methods need the door itself.
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        const isCall =
          typeof property === 'string' && (methods === undefined || (methods as readonly string[]).includes(property))
        return (...args: unknown[]): unknown =>
          isCall && uncounted.getStore() !== this
            ? this.#call({ door: name, method: property, args }, () => Reflect.apply(value, target, args) as unknown)
            : (Reflect.apply(value, target, args) as unknown)
      },
    })
  }

  async #call(call: DoorCall, work: () => unknown): Promise<unknown> {
    const number = this.count++
    this.before(call, number)
    const result = await work()
    await this.atEachMoment(call)
    this.after(call, number)
    return result
  }
}
