/** A socket file for a server: only its owner may connect, and the file of a dead server is replaced. */
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Server } from 'node:net'
import { KpngError } from '../kpng-error.ts'

/** Removes the file of a dead server. Refuses if the server is alive, or if the file is not a socket. */
export async function clearSocketPath(path: string): Promise<void> {
  let found
  try {
    found = await lstat(path)
  } catch {
    return // nothing there; a folder that is missing shows when we listen
  }
  if (!found.isSocket())
    throw new KpngError('in-use', `cannot listen on unix://${path}: the path is a file that is not a socket, remove it`)
  await refuseLiveServer(`unix://${path}`, path)
  await unlink(path)
}

/** For a socket or a named pipe. */
export async function refuseLiveServer(where: string, path: string): Promise<void> {
  if (await answers(path))
    throw new KpngError(
      'in-use',
      `cannot listen on ${where}: another server uses it, stop that one or choose another path`,
    )
}

/** The file is created with its mode, so there is no moment when somebody else could connect. */
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
