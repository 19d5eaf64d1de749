/**
 * What the thread runs that opens a netlink socket in each network namespace that is wanted, or tries to get into any. A socket stays in the
 * namespace in which it was made, and its descriptor is good in every thread.
 */
import { closeSync, openSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import * as libc from '../libc/libc.ts'
import { openSocket } from '../netlink/open-netlink.ts'
import { namespaceCookie } from './namespace-cookie.ts'
import { openInEach } from './open-in-each.ts'
import type { Entered, NamespaceAnswer, NamespacePath } from './open-in-each.ts'
import type { Reach } from './sockets.ts'

/** `/proc`, and `/run/netns`: where namespaces are found. */
export interface NamespaceFolders {
  readonly procFolder: string
  readonly namedFolder: string
}

export interface NamespaceQuestion extends NamespaceFolders {
  /** Cookies of network namespaces. */
  readonly wanted: readonly bigint[] | 'all'
}

/** `another`: only whether it can be entered. The answer is a `Reach`. */
export type NamespaceTask = NamespaceQuestion | (NamespaceFolders & { readonly wanted: 'another' })

/** Which namespace a process is in may not be known to everybody. */
const hidden = 'hidden'

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
parentPort?.postMessage(answerTo(workerData as NamespaceTask))

function answerTo(task: NamespaceTask): NamespaceAnswer | Reach {
  const { wanted } = task
  return wanted === 'another' ? tryToLeave(task) : open({ ...task, wanted })
}

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

function tryToLeave({ procFolder, namedFolder }: NamespaceFolders): Reach {
  // What asks for the same rights as any other, and is always there.
  const own = '/proc/thread-self/ns/net'
  if (enter(own) !== 'yes') return 'forbidden'
  const home = inodeOfLink(own)
  let reach: Reach = 'alone'
  for (const { path, isHidden } of namespacePaths(procFolder, namedFolder)) {
    const entered = enter(path)
    if (entered === 'yes' && inodeOfLink(own) !== home) return 'others'
    if (entered !== 'not allowed') continue
    if (!isHidden) reach = 'closed'
    else if (reach === 'alone') reach = 'hidden'
  }
  return reach
}

/** One for each namespace, and each process that hides its own. Processes come and go meanwhile. */
function* namespacePaths(procFolder: string, namedFolder: string): Generator<NamespacePath> {
  const seen = new Set<string>()
  const isNew = (inode: string | undefined) => inode !== undefined && !seen.has(inode) && seen.add(inode).size > 0
  for (const pid of namesIn(procFolder)) {
    const path = `${procFolder}/${pid}/ns/net`
    if (!/^\d+$/.test(pid)) continue
    const inode = inodeOfLink(path)
    const isHidden = inode === hidden
    if (isHidden || isNew(inode)) yield { path, isHidden }
  }
  for (const name of namesIn(namedFolder)) {
    const path = `${namedFolder}/${name}`
    if (isNew(inodeOfFile(path))) yield { path, isHidden: false }
  }
}

function enter(path: string): Entered {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    // Otherwise the process has ended.
    return isForbidden(error) ? 'not allowed' : 'gone'
  }
  try {
    const errno = libc.enterNetworkNamespace(fd)
    if (errno === 0) return 'yes'
    // A name whose namespace is mounted elsewhere, or was before the machine started anew.
    return errno === constants.errno.EINVAL ? 'no namespace' : 'not allowed'
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
