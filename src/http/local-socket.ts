/**
 * A server that only this machine can reach: a socket file, or on Windows a named pipe. Only its owner may connect, and
 * the file of a dead server is replaced.
 */
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Server } from 'node:net'
import { pipeText } from './named-pipe.ts'

export interface LocalSocket {
  readonly kind: 'unix' | 'pipe'
  /** `/run/fairlead.sock`, or `\\.\pipe\NAME` */
  readonly path: string
}

export function socketText({ kind, path }: LocalSocket): string {
  return kind === 'pipe' ? pipeText(path) : `unix://${path}`
}

/** Asks the server to listen. Refuses if another server is alive there, or if the path is not a socket. */
export async function listenLocally(server: Server, socket: LocalSocket): Promise<void> {
  if (socket.kind === 'unix') {
    await clearSocketPath(socket)
    listenPrivately(server, socket.path)
  } else {
    // Windows refuses a second server by itself, Wine does not: clients would reach one or the other.
    await refuseLiveServer(socket)
    server.listen(socket.path)
  }
}

/** Removes the file of a dead server. */
async function clearSocketPath(socket: LocalSocket): Promise<void> {
  let found
  try {
    found = await lstat(socket.path)
  } catch {
    return // nothing there; a folder that is missing shows when we listen
  }
  if (!found.isSocket())
    throw new SocketInUseError(
      `cannot listen on ${socketText(socket)}: the path is a file that is not a socket, remove it`,
    )
  await refuseLiveServer(socket)
  await unlink(socket.path)
}

async function refuseLiveServer(socket: LocalSocket): Promise<void> {
  if (await answers(socket.path))
    throw new SocketInUseError(
      `cannot listen on ${socketText(socket)}: another server uses it, stop that one or choose another path`,
    )
}

/** The file is created with its mode, so there is no moment when somebody else could connect. */
function listenPrivately(server: Server, path: string): void {
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

/** Somebody else is there already. */
export class SocketInUseError extends Error {
  override readonly name = 'SocketInUseError'
}
