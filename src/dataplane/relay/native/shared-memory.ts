/**
 * Memory that this process and the native engine have in common: the engine counts in it, and this side looks whenever
 * it wants. Import it with `import()`: it does not load where koffi has no binary.
 */
import { closeSync, ftruncateSync } from 'node:fs'
import koffi from 'koffi'

const program = koffi.load(null)
const memfdCreate = program.func('int memfd_create(const char *name, unsigned int flags)') as (
  name: string,
  flags: number,
) => number
const mmap = program.func(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)',
) as (address: null, length: number, protection: number, flags: number, fd: number, offset: number) => unknown
const closeOnExec = 1
const readAndWrite = 3
const shared = 1

export interface SharedMemory {
  /** For a child process to map; whoever asked for the memory closes it. */
  readonly fd: number
  /** Stays mapped as long as this process runs: nobody can tell who still looks at it. */
  readonly bytes: ArrayBuffer
}

/** Pages that nobody touches take no memory, so the size may be generous. */
export function createSharedMemory(size: number): SharedMemory {
  const fd = memfdCreate('fairlead-relay', closeOnExec)
  if (fd < 0) throw new Error(`memfd_create failed with errno ${koffi.errno()}`)
  try {
    ftruncateSync(fd, size)
    return { fd, bytes: koffi.view(mmap(null, size, readAndWrite, shared, fd, 0), size) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
