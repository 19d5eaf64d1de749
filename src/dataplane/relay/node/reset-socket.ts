import type { Socket } from 'node:net'

/** Ends a connection the hard way: the peer sees a reset, not a clean end. */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return
  // libuv refuses a reset while the shutdown of the write side is under way, and Node then leaks the handle.
  const isShuttingDown = socket.writableEnded && !socket.writableFinished
  if (isShuttingDown) socket.destroy()
  else socket.resetAndDestroy()
}
