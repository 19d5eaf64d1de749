/**
 * Where the native engine counts (`shared.c`): a slot for each listener and for each endpoint, and in it some cells for
 * each worker; then the cells of each worker for all of them together.
 */
import { connectionBounds, dialBounds } from '../durations.ts'
import { EndpointCounters } from '../endpoint-counters.ts'
import { EngineCounters, engineCells } from '../engine-counters.ts'
import { ListenerCounters } from '../listener-counters.ts'

/** `SHARED_HEADER`, `BOUNDS_START` and `CELLS` in the engine. */
const headerBytes = 4096
const boundsStart = 64
const cellsPerWorker = 16
const cellBytes = 8

/** More than there are ports on an address; addresses of loopback may use the same ports again. */
export const slotCount = 1 << 17
/** For endpoints that find no other: all of them count there, and nobody looks. */
export const uncountedSlot = 0

/** Fewer on a machine with very many cores: addresses are not free, even if memory behind them is. */
export function endpointSlotCount(workers: number): number {
  return Math.min(1 << 18, Math.floor(2 ** 31 / (workers * cellsPerWorker * cellBytes)))
}

export function sizeOfSlots(workers: number): number {
  const cells = (slotCount + endpointSlotCount(workers)) * cellsPerWorker + engineCells
  return headerBytes + cells * workers * cellBytes
}

export class CounterSlots {
  readonly #bytes: ArrayBuffer
  readonly #workers: number
  readonly #listeners = new FreeSlots(0, slotCount)
  readonly #endpoints: FreeSlots

  constructor(bytes: ArrayBuffer, workers: number) {
    this.#bytes = bytes
    this.#workers = workers
    this.#endpoints = new FreeSlots(uncountedSlot + 1, endpointSlotCount(workers))
    const bounds = [connectionBounds.length, ...connectionBounds, dialBounds.length, ...dialBounds]
    new Float64Array(bytes, boundsStart, bounds.length).set(bounds)
  }

  /** Descriptors in use, written by the engine. */
  get usedDescriptors(): Int32Array {
    return new Int32Array(this.#bytes, 0, 1)
  }

  /** Connections that are dialled from the client's address, counted by the engine. */
  get transparentConnections(): number {
    return Atomics.load(this.#transparent, 0)
  }

  forgetTransparent(): void {
    Atomics.store(this.#transparent, 0, 0)
  }

  take(): number | undefined {
    const slot = this.#listeners.take()
    if (slot !== undefined) for (const cells of this.#cellsOf(slot)) cells.fill(0)
    return slot
  }

  giveBack(slot: number): void {
    this.#listeners.giveBack(slot)
  }

  read(slot: number): ListenerCounters {
    return ListenerCounters.sumOf(this.#cellsOf(slot).map((cells) => new ListenerCounters(cells)))
  }

  /** For when the engine has died: its connections are gone, too. */
  forgetActive(slot: number): void {
    for (const cells of this.#cellsOf(slot)) new ListenerCounters(cells).forgetActive()
  }

  takeEndpoint(): number | undefined {
    const slot = this.#endpoints.take()
    if (slot !== undefined) for (const cells of this.#endpointCellsOf(slot)) cells.fill(0)
    return slot
  }

  giveBackEndpoint(slot: number): void {
    this.#endpoints.giveBack(slot)
  }

  readEndpoint(slot: number): EndpointCounters {
    return EndpointCounters.sumOf(this.#endpointCellsOf(slot).map((cells) => new EndpointCounters(cells)))
  }

  forgetActiveEndpoint(slot: number): void {
    for (const cells of this.#endpointCellsOf(slot)) new EndpointCounters(cells).forgetActive()
  }

  readEngine(): EngineCounters {
    const slots = slotCount + endpointSlotCount(this.#workers)
    const start = headerBytes + slots * this.#workers * cellsPerWorker * cellBytes
    const ofWorker = (_: unknown, worker: number) =>
      new EngineCounters(new Float64Array(this.#bytes, start + worker * engineCells * cellBytes, engineCells))
    return EngineCounters.sumOf(Array.from({ length: this.#workers }, ofWorker))
  }

  get #transparent(): Int32Array {
    return new Int32Array(this.#bytes, 4, 1)
  }

  #endpointCellsOf(slot: number): readonly Float64Array[] {
    return this.#cellsOf(slotCount + slot)
  }

  /** The slots of endpoints follow those of listeners. */
  #cellsOf(slot: number): readonly Float64Array[] {
    return Array.from({ length: this.#workers }, (_, worker) => {
      const offset = headerBytes + (slot * this.#workers + worker) * cellsPerWorker * cellBytes
      return new Float64Array(this.#bytes, offset, cellsPerWorker)
    })
  }
}

class FreeSlots {
  readonly #end: number
  readonly #free: number[] = []
  /** This one and those after it have never been used. */
  #next: number

  constructor(start: number, end: number) {
    this.#next = start
    this.#end = end
  }

  take(): number | undefined {
    return this.#free.pop() ?? (this.#next < this.#end ? this.#next++ : undefined)
  }

  giveBack(slot: number): void {
    this.#free.push(slot)
  }
}
