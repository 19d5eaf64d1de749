/** A door to a data plane, of which each change is a commit in the trace of the sync. */
import type { SpanAttributes } from '../trace.ts'
import type { SyncSteps } from './sync-steps.ts'

type Method = (...args: never[]) => Promise<unknown>

/** How the calls that change something are described, before and after. */
export type DoorCommits<T> = {
  readonly [K in keyof T]?: T[K] extends Method
    ? {
        readonly before: (...args: Parameters<T[K]>) => SpanAttributes
        readonly after?: (result: Awaited<ReturnType<T[K]>>) => SpanAttributes
      }
    : never
}

interface Description {
  readonly before: (...args: unknown[]) => SpanAttributes
  readonly after?: (result: unknown) => SpanAttributes
}

export function tracedDoor<T extends object>(door: T, steps: SyncSteps, commits: DoorCommits<T>): T {
  const descriptions = commits as Readonly<Record<PropertyKey, Description | undefined>>
  return new Proxy(door, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args)
      const description = Object.hasOwn(descriptions, property) ? descriptions[property] : undefined
      if (description === undefined) return call
      return (...args: unknown[]) =>
        steps.commit(async (span) => {
          if (span.isRecorded) span.set(description.before(...args))
          const result = await call(...args)
          if (span.isRecorded && description.after !== undefined) span.set(description.after(result))
          return result
        })
    },
  })
}
