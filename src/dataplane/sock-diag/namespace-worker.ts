/**
 * What the thread runs that opens a netlink socket in each network namespace that is wanted. A socket stays in the
 * namespace in which it was made, and its descriptor is good in every thread.
 */
import { closeSync, openSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import * as libc from '../libc/libc.ts'
import { openSocket } from '../netlink/open-netlink.ts'
import { namespaceCookie } from './namespace-cookie.ts'

export interface NamespaceQuestion {
  /** Cookies of network namespaces. */
  readonly wanted: readonly bigint[]
  /** `/proc`, and `/run/netns`: where namespaces are found. */
  readonly procFolder: string
  readonly namedFolder: string
}

export interface NamespaceAnswer {
  /** The descriptors belong to whoever asked. */
  readonly opened: readonly { readonly netns: bigint; readonly fd: number }[]
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
parentPort?.postMessage(open(workerData as NamespaceQuestion))

/** The thread ends afterwards, wherever it is then. */
function open({ wanted, procFolder, namedFolder }: NamespaceQuestion): NamespaceAnswer {
  const missing = new Set(wanted)
  const opened: { readonly netns: bigint; readonly fd: number }[] = []
  const add = (): void => {
    const fd = openSocket(libc, 'sock-diag')
    const netns = namespaceCookie(libc, fd)
    if (netns !== undefined && missing.delete(netns)) opened.push({ netns, fd })
    else closeSync(fd)
  }
  // This one needs no right to enter it.
  add()
  for (const path of namespacePaths(procFolder, namedFolder)) {
    if (missing.size === 0) break
    if (enter(path)) add()
  }
  return { opened }
}

/** One path for each namespace. Processes come and go meanwhile. */
function* namespacePaths(procFolder: string, namedFolder: string): Generator<string> {
  const seen = new Set<string>()
  const isNew = (inode: string | undefined) => inode !== undefined && !seen.has(inode) && seen.add(inode).size > 0
  for (const pid of namesIn(procFolder)) {
    const path = `${procFolder}/${pid}/ns/net`
    if (/^\d+$/.test(pid) && isNew(inodeOfLink(path))) yield path
  }
  for (const name of namesIn(namedFolder)) {
    const path = `${namedFolder}/${name}`
    if (isNew(inodeOfFile(path))) yield path
  }
}

function enter(path: string): boolean {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch {
    return false // The process has ended, or another user's namespace is none of ours.
  }
  try {
    return libc.enterNetworkNamespace(fd) === 0
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
  } catch {
    return undefined
  }
}

function inodeOfFile(path: string): string | undefined {
  try {
    return statSync(path, { bigint: true }).ino.toString()
  } catch {
    return undefined
  }
}
