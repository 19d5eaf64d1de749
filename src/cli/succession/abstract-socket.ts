/**
 * Unix sockets whose name is no file. It belongs to the network namespace, so processes in different containers of the
 * host's network meet there, and it is gone when the last process that has it ends, however that ends.
 */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Libc } from '../../dataplane/libc/load-libc.ts'

const [unix, streamWithoutWaiting, socketLevel] = [1, 0x80801, 1]
const peerCredentials = 17
const backlog = 64

/** The name was not free, or something else went wrong: `errno` says what. */
export type Failed = { readonly ok: false; readonly errno: number }
export type Opened = { readonly ok: true; readonly fd: number }

export const isTaken = ({ errno }: Failed): boolean => errno === constants.errno.EADDRINUSE

/** Listens. */
export function bindAbstract(libc: Libc, name: string): Opened | Failed {
  return opened(libc, (fd) => libc.bind(fd, addressOf(name)) || libc.listen(fd, backlog))
}

export function connectAbstract(libc: Libc, name: string): Opened | Failed {
  return opened(libc, (fd) => libc.connect(fd, addressOf(name)))
}

export interface Peer {
  /** As this process sees it; 0: it is in a place that we cannot see. */
  readonly pid: number
  readonly uid: number
}

/** Who listens, or who has connected: the kernel says so, nobody can pretend. */
export function peerOf(libc: Libc, fd: number): Peer | undefined {
  const credentials = Buffer.alloc(12)
  if (libc.getSocketOption(fd, socketLevel, peerCredentials, credentials) !== 0) return undefined
  return { pid: credentials.readInt32LE(0), uid: credentials.readUInt32LE(4) }
}

function opened(libc: Libc, open: (fd: number) => number): Opened | Failed {
  const fd = libc.socket(unix, streamWithoutWaiting, 0)
  if (fd < 0) return { ok: false, errno: -fd }
  const errno = open(fd)
  if (errno === 0) return { ok: true, fd }
  closeSync(fd)
  return { ok: false, errno }
}

function addressOf(name: string): Buffer {
  const family = Buffer.alloc(2)
  family.writeUInt16LE(unix)
  return Buffer.concat([family, Buffer.from(`\0${name}`)])
}
