/** A sequence of operations as bytes. They are joined as late as possible: when they are sent. */
export interface OpBytes {
  readonly bytes: Buffer
  readonly operations: number
}

export function* eachAlone(frames: Iterable<Buffer>): Generator<OpBytes> {
  for (const bytes of frames) yield { bytes, operations: 1 }
}

export function joined(frames: readonly Buffer[]): OpBytes {
  return { bytes: Buffer.concat(frames), operations: frames.length }
}

/** Pieces of at least this length, except for the last; each is made when it is requested. */
export function* inPieces(parts: Iterable<OpBytes>, length: number): Generator<OpBytes> {
  let collected: Buffer[] = []
  let size = 0
  let operations = 0
  for (const part of parts) {
    collected.push(part.bytes)
    size += part.bytes.length
    operations += part.operations
    if (size < length) continue
    yield { bytes: Buffer.concat(collected, size), operations }
    collected = []
    size = 0
    operations = 0
  }
  if (size > 0) yield { bytes: Buffer.concat(collected, size), operations }
}
