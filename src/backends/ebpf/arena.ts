/**
 * Which elements of the arrays are in use. A program that was running when something went out of use may still read it, so
 * it rests for a while before it is given out again.
 */
import type { Clock } from '../../core/clock.ts'

/** Programs run for microseconds. */
const restMs = 60_000

/** Elements side by side. */
export interface Extent {
  readonly base: number
  readonly size: number
}

type SpaceClock = Pick<Clock, 'monotonic'>

export interface SpaceLimits {
  /** Elements before it are never given out. */
  readonly first: number
  readonly end: number
  readonly clock: SpaceClock
}

/** The elements of one array. Sizes are powers of two, so that what goes fits what comes. */
export class Space {
  readonly #clock: SpaceClock
  readonly #first: number
  readonly #end: number
  /** From here on, nothing was ever used. */
  #untouched: number
  #used = 0
  #restingCount = 0
  readonly #freeBySize = new Map<number, number[]>()
  /** In the order in which they may be used again. */
  readonly #resting: (Extent & { readonly until: number })[] = []

  constructor({ first, end, clock }: SpaceLimits) {
    this.#clock = clock
    this.#first = first
    this.#end = end
    this.#untouched = first
  }

  /** As a process finds it. What is before `touched` and not taken may be in use by a program that still runs. */
  static found(limits: SpaceLimits, taken: Iterable<Extent>, touched: number): Space {
    const space = new Space(limits)
    for (const { base, size } of [...taken].sort((a, b) => a.base - b.base)) {
      space.#rest(base)
      space.#untouched = base + size
      space.#used += size
    }
    space.#rest(touched)
    return space
  }

  /** Without what rests. */
  get used(): number {
    return this.#used
  }

  /** There is room for so many without waiting for what rests. */
  hasRoomFor(count: number): boolean {
    return this.#used + this.#restingCount + count <= this.#end - this.#first
  }

  /** There is no such room, and more of it once what rests may be used again. */
  isShortUntilWoken(count: number): boolean {
    return this.#restingCount > 0 && count > 0 && !this.hasRoomFor(count)
  }

  get capacity(): number {
    return this.#end
  }

  /** Whether it was ever used before is told by `isNew`. Undefined: there is no room, before what rests may be used again. */
  take(size: number): (Extent & { readonly isNew: boolean }) | undefined {
    this.#wake()
    const taken = this.#takeFree(size) ?? this.#takeUntouched(size) ?? this.#split(size)
    if (taken !== undefined) this.#used += size
    return taken
  }

  /** Nothing leads there any more. */
  retire({ base, size }: Extent): void {
    this.#used -= size
    this.#push({ base, size })
  }

  /** It was taken, and nothing ever led there. */
  giveBack({ base, size }: Extent): void {
    this.#used -= size
    this.#free(base, size)
  }

  /** All programs have ended that were running when the last one was retired. */
  wakeAll(): void {
    this.#wake(Infinity)
  }

  #wake(now?: number): void {
    // Asked for each element that is taken: thousands in a first sync, when nothing rests.
    const [next] = this.#resting
    if (next === undefined || next.until > (now ??= this.#clock.monotonic())) return
    const count = this.#resting.findIndex(({ until }) => until > now)
    const woken = this.#resting.splice(0, count === -1 ? this.#resting.length : count)
    for (const { base, size } of woken) {
      this.#restingCount -= size
      this.#free(base, size)
    }
  }

  #free(base: number, size: number): void {
    const bases = this.#freeBySize.get(size)
    if (bases === undefined) this.#freeBySize.set(size, [base])
    else bases.push(base)
  }

  #takeFree(size: number) {
    const base = this.#freeBySize.get(size)?.pop()
    return base === undefined ? undefined : { base, size, isNew: false }
  }

  #takeUntouched(size: number) {
    if (this.#untouched + size > this.#end) return undefined
    const base = this.#untouched
    this.#untouched += size
    return { base, size, isNew: true }
  }

  /** The front of a larger one. Pieces are not put together again: who needs that much room gets larger arrays. */
  #split(size: number) {
    const larger = [...this.#freeBySize].filter(([each, bases]) => each > size && bases.length > 0)
    const whole = Math.min(...larger.map(([each]) => each))
    const base = this.#freeBySize.get(whole)?.pop()
    if (base === undefined) return undefined
    for (let half = whole / 2; half >= size; half /= 2) this.#free(base + half, half)
    return { base, size, isNew: false }
  }

  /** Everything from here to there. */
  #rest(end: number): void {
    for (let size: number; this.#untouched < end; this.#untouched += size) {
      size = 2 ** Math.floor(Math.log2(end - this.#untouched))
      this.#push({ base: this.#untouched, size })
    }
  }

  #push(extent: Extent): void {
    this.#restingCount += extent.size
    this.#resting.push({ ...extent, until: this.#clock.monotonic() + restMs })
  }
}

/** The room that a list of this many endpoints gets. */
export function extentSize(count: number): number {
  return 2 ** (32 - Math.clz32(Math.max(1, count) - 1))
}

/** What the tables have room for, shared by both families. */
export class Arena {
  readonly indexes: Space
  readonly ids: Space
  readonly slots: Space
  /** How many more frontends there is room for. */
  freeFrontends: number
  #nextGeneration: number
  #reservedUntil: number
  #turn = 0

  constructor(spaces: Pick<Arena, 'indexes' | 'ids' | 'slots' | 'freeFrontends'>, nextGeneration: number) {
    this.indexes = spaces.indexes
    this.ids = spaces.ids
    this.slots = spaces.slots
    this.freeFrontends = spaces.freeFrontends
    this.#nextGeneration = Math.max(1, nextGeneration)
    this.#reservedUntil = this.#nextGeneration
  }

  /** Never 0, and none of before: sockets and clients remember what they had. */
  generation(): number {
    if (this.#nextGeneration > largestGeneration) this.#nextGeneration = 1
    return this.#nextGeneration++
  }

  /**
   * Where a process shall go on that comes after this one, if it has to be told before the generations that were given out
   * are used. Many are told of at once.
   */
  reserve(): number | undefined {
    if (this.#nextGeneration <= this.#reservedUntil) return undefined
    this.#reservedUntil = Math.min(largestGeneration, this.#nextGeneration + reservedAtOnce)
    return this.#reservedUntil
  }

  /** A number for people who look into the tables. Never 0, so that what was used once is never empty again. */
  turn(): number {
    this.#turn = (this.#turn % 0xffff) + 1
    return this.#turn
  }

  wakeAll(): void {
    for (const space of [this.indexes, this.ids, this.slots]) space.wakeAll()
  }
}

const largestGeneration = 0xffff_ffff
const reservedAtOnce = 4_096
