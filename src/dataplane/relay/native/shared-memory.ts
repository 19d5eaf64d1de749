/** Memory that this process and the native engine share: the engine counts in it, and this side looks when it wants. */
import { closeSync, ftruncateSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import type { Libc } from '../../libc/load-libc.ts'

const [closeOnExec, allowSealing] = [1, 2]
/** No more seals, no shorter, no longer. Writing is for both sides, and for the next engine too, so it stays open. */
const [noMoreSeals, noShrinking, noGrowing] = [1, 2, 4]

export interface SharedMemory {
  /** For a child process to map; whoever asked for the memory closes it. */
  readonly fd: number
  /** Stays mapped as long as this process runs: nobody can tell who still looks at it. */
  readonly bytes: ArrayBuffer
}

/**
 * Pages that nobody touches take no memory, so the size may be generous. It cannot change: an engine that made the
 * memory shorter would end this process too, the next time it looks.
 */
export function createSharedMemory(libc: Libc, size: number): SharedMemory {
  const fd = libc.memoryFile('fairlead-relay', closeOnExec | allowSealing)
  if (fd < 0) throw failure('memfd_create', -fd)
  try {
    ftruncateSync(fd, size)
    const errno = libc.addSeals(fd, noMoreSeals | noShrinking | noGrowing)
    if (errno !== 0) throw failure('sealing it', errno)
    const bytes = libc.mapShared(fd, size)
    if (typeof bytes === 'number') throw failure('mmap', bytes)
    return { fd, bytes }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function failure(what: string, errno: number): Error {
  const name = getSystemErrorName(-errno)
  return Object.assign(new Error(`there is no memory to share with the native relay: ${what} failed with ${name}`), {
    code: name,
  })
}
