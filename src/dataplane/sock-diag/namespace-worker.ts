/**
 * What the thread runs that opens a netlink socket in each network namespace that is wanted. A socket stays in the
 * namespace in which it was made, and its descriptor is good in every thread.
 */
import { closeSync, openSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import * as libc from '../libc/libc.ts'
import { openSocket } from '../netlink/open-netlink.ts'
import { namespaceCookie } from './namespace-cookie.ts'
import { openInEach } from './open-in-each.ts'
import type { NamespaceAnswer } from './open-in-each.ts'

export interface NamespaceQuestion {
  /** Cookies of network namespaces. */
  readonly wanted: readonly bigint[] | 'all'
  /** `/proc`, and `/run/netns`: where namespaces are found. */
  readonly procFolder: string
  readonly namedFolder: string
}

/** Which namespace a process is in may not be known to everybody. */
const hidden = 'hidden'

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
parentPort?.postMessage(open(workerData as NamespaceQuestion))

/** The thread ends afterwards, wherever it is then. */
function open({ wanted, procFolder, namedFolder }: NamespaceQuestion): NamespaceAnswer {
  return openInEach(wanted, {
    paths: namespacePaths(procFolder, namedFolder),
    enter,
    openSocket: () => openSocket(libc, 'sock-diag'),
    namespaceOf: (fd) => namespaceCookie(libc, fd),
    close: closeSync,
  })
}

/** One path for each namespace. Processes come and go meanwhile. */
function* namespacePaths(procFolder: string, namedFolder: string): Generator<string> {
  const seen = new Set<string>()
  const isNew = (inode: string | undefined) => inode !== undefined && !seen.has(inode) && seen.add(inode).size > 0
  for (const pid of namesIn(procFolder)) {
    const path = `${procFolder}/${pid}/ns/net`
    if (!/^\d+$/.test(pid)) continue
    const inode = inodeOfLink(path)
    if (inode === hidden || isNew(inode)) yield path
  }
  for (const name of namesIn(namedFolder)) {
    const path = `${namedFolder}/${name}`
    if (isNew(inodeOfFile(path))) yield path
  }
}

function enter(path: string): 'yes' | 'not allowed' | 'gone' {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    // Otherwise the process has ended.
    return isForbidden(error) ? 'not allowed' : 'gone'
  }
  try {
    return libc.enterNetworkNamespace(fd) === 0 ? 'yes' : 'not allowed'
  } finally {
    closeSync(fd)
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** From `net:[4026531840]`. */
function inodeOfLink(path: string): string | undefined {
  try {
    return /\d+/.exec(readlinkSync(path))?.[0]
  } catch (error) {
    return isForbidden(error) ? hidden : undefined
  }
}

function isForbidden(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EPERM'
}

function inodeOfFile(path: string): string | undefined {
  try {
    return statSync(path, { bigint: true }).ino.toString()
  } catch {
    return undefined
  }
}
