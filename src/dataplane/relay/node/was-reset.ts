import type { Socket } from 'node:net'

/**
 * Whether the end that a socket reports was a reset. libuv takes the two for the same when the last bytes are read in
 * the moment the reset is noticed, and a cut answer would pass for a complete one. The kernel knows: a connection that
 * was reset has no peer any more. Nor has one that both sides have ended, so our own side must still be open.
 */
export function wasReset(socket: Socket): boolean {
  if (socket.writableEnded) return false
  const handle = (socket as unknown as { readonly _handle?: { getpeername?(out: object): number } | null })._handle
  return handle?.getpeername !== undefined && handle.getpeername({}) !== 0
}
