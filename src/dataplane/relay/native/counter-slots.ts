/** Where the native engine counts: a slot for each listener, and in it some cells for each worker (`shared.c`). */
import { ListenerCounters } from '../listener-counters.ts'

/** `SHARED_HEADER` and `CELLS` in the engine. */
const headerBytes = 4096
const cellsPerWorker = 16

/** More than there are ports on an address; addresses of loopback may use the same ports again. */
export const slotCount = 1 << 17

export function sizeOfSlots(workers: number): number {
  return headerBytes + slotCount * workers * cellsPerWorker * 8
}

export class CounterSlots {
  readonly #bytes: ArrayBuffer
  readonly #workers: number
  readonly #free: number[] = []
  #used = 0

  constructor(bytes: ArrayBuffer, workers: number) {
    this.#bytes = bytes
    this.#workers = workers
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
    const slot = this.#free.pop() ?? (this.#used < slotCount ? this.#used++ : undefined)
    if (slot !== undefined) for (const { cells } of this.#partsOf(slot)) cells.fill(0)
    return slot
  }

  giveBack(slot: number): void {
    this.#free.push(slot)
  }

  read(slot: number): ListenerCounters {
    return ListenerCounters.sumOf(this.#partsOf(slot))
  }

  /** For when the engine has died: its connections are gone, too. */
  forgetActive(slot: number): void {
    for (const part of this.#partsOf(slot)) part.forgetActive()
  }

  get #transparent(): Int32Array {
    return new Int32Array(this.#bytes, 4, 1)
  }

  #partsOf(slot: number): readonly ListenerCounters[] {
    return Array.from({ length: this.#workers }, (_, worker) => {
      const offset = headerBytes + (slot * this.#workers + worker) * cellsPerWorker * 8
      return new ListenerCounters(new Float64Array(this.#bytes, offset, cellsPerWorker))
    })
  }
}
