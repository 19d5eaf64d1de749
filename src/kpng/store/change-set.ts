/** Operations in the order that every peer can follow, ready to be sent. */
import { compareBytes } from '../wire/byte-order.ts'

/**
 * One place in the order. What is set goes up, what is deleted comes down: so a Service is there before its endpoints,
 * and its endpoints are gone before it.
 */
interface Position {
  readonly prefix: string
  readonly frames: readonly Buffer[]
}

export class ChangeSetPosition {
  readonly #parts: Position[] = []
  readonly #direction: 1 | -1

  constructor(order: 'ascending' | 'descending') {
    this.#direction = order === 'ascending' ? 1 : -1
  }

  /** `prefix` begins the path of each of the frames, and of no other. */
  add(prefix: string, frames: readonly Buffer[]): void {
    if (frames.length > 0) this.#parts.push({ prefix, frames })
  }

  appendTo(frames: Buffer[]): void {
    this.#parts.sort((left, right) => this.#direction * compareBytes(left.prefix, right.prefix))
    for (const part of this.#parts) for (const frame of part.frames) frames.push(frame)
  }
}
