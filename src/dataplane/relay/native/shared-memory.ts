/** Memory that this process and the native engine share: the engine counts in it, and this process reads it. */
import { closeSync, ftruncateSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import type { Libc } from '../../libc/load-libc.ts'

const [closeOnExec, allowSealing] = [1, 2]
/** Writing is not sealed, because the next engine has to write as well. */
const [noMoreSeals, noShrinking, noGrowing] = [1, 2, 4]

export interface SharedMemory {
  /** For a child process to map; whoever asked for the memory closes it. */
  readonly fd: number
  /** Stays mapped as long as this process runs: there may still be views of it. */
  readonly bytes: ArrayBuffer
}

/**
 * Pages that are not touched take no memory, so the size may be generous. It cannot change: if an engine made the
 * memory shorter, this process would crash on its next read.
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
