import type { Socket } from 'node:net'

/**
 * Whether the end that a socket reports was a reset. libuv reports a reset as an end if it reads the last bytes at the
 * moment it notices the reset, and a cut answer would look complete. The kernel can tell: a connection that was reset
 * has no peer any more. Nor has one that both sides have ended, so our own side must still be open.
 */
export function wasReset(socket: Socket): boolean {
  if (socket.writableEnded) return false
  const handle = (socket as unknown as { readonly _handle?: { getpeername?(out: object): number } | null })._handle
  return handle?.getpeername !== undefined && handle.getpeername({}) !== 0
}

/** The peer sees a reset, not a clean end. */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return
  // libuv refuses a reset while the shutdown of the write side is under way, and Node then leaks the handle.
  const isShuttingDown = socket.writableEnded && !socket.writableFinished
  if (isShuttingDown) socket.destroy()
  else socket.resetAndDestroy()
}
