/** What is in a cell, by the kind of metric. */
import { bucketOf } from '../../core/bucket.ts'
import type { Cell } from './cells.ts'

export class CounterCell implements Cell {
  isWritten = false
  value = 0
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  increment(by = 1): void {
    // At the scrape it would be too late: it would fail, and nobody would know who wrote this.
    if (!(by >= 0 && by < Infinity)) throw new RangeError(`${this.#name}: cannot be incremented by ${by}`)
    this.value += by
    this.isWritten = true
  }

  clear(): void {
    this.value = 0
  }
}

export class GaugeCell implements Cell {
  isWritten = false
  value = 0

  set(value: number): void {
    this.value = value
    this.isWritten = true
  }

  clear(): void {
    this.value = 0
  }
}

export class HistogramCell implements Cell {
  isWritten = false
  readonly counts: number[]
  sum = 0
  readonly #name: string
  readonly #bounds: readonly number[]

  constructor(name: string, bounds: readonly number[]) {
    this.#name = name
    this.#bounds = bounds
    this.counts = [...bounds, Infinity].map(() => 0)
  }

  observe(value: number): void {
    // It would spoil the sum for good.
    if (!Number.isFinite(value)) throw new RangeError(`${this.#name}: cannot observe ${value}`)
    this.counts[bucketOf(value, this.#bounds)]!++
    this.sum += value
    this.isWritten = true
  }

  clear(): void {
    this.counts.fill(0)
    this.sum = 0
  }
}
