/** Who may keep a proxy waiting, or take its place: whoever could stop it, or undo its work, anyway. */
import { readFileSync } from 'node:fs'
import { lackedCapabilities } from '../../dataplane/capabilities.ts'
import type { Peer } from './abstract-socket.ts'

/** Of a process that listens under the name of the lock. One that has ended may have handed it to another. */
export function isTrustedHolder({ pid, uid }: Peer, ownUid: number): boolean {
  return uid === 0 ? !isPowerless(pid) : uid === ownUid
}

/** Of a process that has connected. One that has ended has no rights that could be looked at, and needs nothing. */
export function isTrustedNewcomer(peer: Peer, ownUid: number): boolean {
  return isTrustedHolder(peer, ownUid) && !(peer.uid === 0 && hasEnded(peer.pid))
}

/**
 * Root in a container can be somebody without any right. A process in another PID namespace (its pid is 0) cannot be
 * looked at and gets the benefit of the doubt. Nobody has to have what we lack ourselves.
 */
function isPowerless(pid: number): boolean {
  const lacks = (process: number | 'self') =>
    lackedCapabilities(['CAP_NET_ADMIN'], () => readFileSync(`/proc/${process}/status`, 'utf8')).length > 0
  return lacks(pid) && !lacks('self')
}

/** Asked of the kernel: /proc may hide processes. */
function hasEnded(pid: number): boolean {
  if (pid === 0) return false
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
