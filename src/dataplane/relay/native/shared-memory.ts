/**
 * Memory that this process and the native engine have in common: the engine counts in it, and this side looks whenever
 * it wants. Import it with `import()`: it does not load where koffi has no binary.
 */
import { closeSync, ftruncateSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import koffi from 'koffi'

const program = koffi.load(null)
const memfdCreate = program.func('int memfd_create(const char *name, unsigned int flags)') as (
  name: string,
  flags: number,
) => number
const mmap = program.func(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)',
) as (address: null, length: number, protection: number, flags: number, fd: number, offset: number) => unknown
// Its last argument is one of "…", which are passed like others on all Linux that koffi has a binary for.
const fcntl = program.func('int fcntl(int fd, int command, int argument)') as (
  fd: number,
  command: number,
  argument: number,
) => number
const [closeOnExec, allowSealing] = [1, 2]
const readAndWrite = 3
const shared = 1
const mapFailed = 2n ** 64n - 1n
const addSeals = 1033
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
export function createSharedMemory(size: number): SharedMemory {
  const fd = memfdCreate('fairlead-relay', closeOnExec | allowSealing)
  if (fd < 0) throw failure('memfd_create')
  try {
    ftruncateSync(fd, size)
    if (fcntl(fd, addSeals, noMoreSeals | noShrinking | noGrowing) < 0) throw failure('sealing it')
    const mapped = mmap(null, size, readAndWrite, shared, fd, 0)
    if (koffi.address(mapped) === mapFailed) throw failure('mmap')
    return { fd, bytes: koffi.view(mapped, size) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function failure(what: string): Error {
  const errno = koffi.errno()
  const name = getSystemErrorName(-errno)
  return Object.assign(new Error(`there is no memory to share with the native relay: ${what} failed with ${name}`), {
    code: name,
  })
}
