/** A socket file for a server: only its owner may connect, and a file that a dead server left is replaced. */
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Server } from 'node:net'
import { KpngError } from '../kpng-error.ts'

/** Removes what a dead server left; refuses to take the place of a living one, or of anything that is no socket. */
export async function clearSocketPath(path: string): Promise<void> {
  let found
  try {
    found = await lstat(path)
  } catch {
    return // nothing there; a folder that is missing shows when we listen
  }
  if (!found.isSocket())
    throw new KpngError('in-use', `cannot listen on unix://${path}: the path is a file that is not a socket, remove it`)
  if (await answers(path))
    throw new KpngError(
      'in-use',
      `cannot listen on unix://${path}: another server uses it, stop that one or choose another path`,
    )
  await unlink(path)
}

/** The file gets its mode as it is made: at no time could somebody else connect. */
export function listenPrivately(server: Server, path: string): void {
  const before = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
