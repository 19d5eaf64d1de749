/** XXH64 with seed 0: the hash that KPNG uses in messages and paths. */

const prime1 = 0x9e3779b185ebca87n
const prime2 = 0xc2b2ae3d27d4eb4fn
const prime3 = 0x165667b19e3779f9n
const prime4 = 0x85ebca77c2b2ae63n
const prime5 = 0x27d4eb2f165667c5n
const mask = 0xffffffffffffffffn

export function xxh64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  let hash = prime5
  if (bytes.length >= 32) {
    const lanes: [bigint, bigint, bigint, bigint] = [(prime1 + prime2) & mask, prime2, 0n, -prime1 & mask]
    for (; at + 32 <= bytes.length; at += 32)
      for (const lane of [0, 1, 2, 3] as const) lanes[lane] = round(lanes[lane], view.getBigUint64(at + 8 * lane, true))
    const [first, second, third, fourth] = lanes
    hash = (rotate(first, 1n) + rotate(second, 7n) + rotate(third, 12n) + rotate(fourth, 18n)) & mask
    for (const lane of lanes) hash = ((hash ^ round(0n, lane)) * prime1 + prime4) & mask
  }
  hash = (hash + BigInt(bytes.length)) & mask
  for (; at + 8 <= bytes.length; at += 8)
    hash = (rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * prime1 + prime4) & mask
  if (at + 4 <= bytes.length) {
    hash = (rotate(hash ^ ((BigInt(view.getUint32(at, true)) * prime1) & mask), 23n) * prime2 + prime3) & mask
    at += 4
  }
  for (; at < bytes.length; at++)
    hash = (rotate(hash ^ ((BigInt(view.getUint8(at)) * prime5) & mask), 11n) * prime1) & mask
  hash = ((hash ^ (hash >> 33n)) * prime2) & mask
  hash = ((hash ^ (hash >> 29n)) * prime3) & mask
  return hash ^ (hash >> 32n)
}

function round(lane: bigint, input: bigint): bigint {
  return (rotate((lane + input * prime2) & mask, 31n) * prime1) & mask
}

function rotate(value: bigint, by: bigint): bigint {
  return ((value << by) | (value >> (64n - by))) & mask
}
