/**
 * FFI on Linux: the few C functions that Node lacks, for kinds of sockets that Node does not have, and for
 * memory that two processes share. Both are file descriptors, which Node's own `fs` reads, writes and closes.
 *
 * Load it with `loadLibc`: it fails to load where koffi has no binary, and it takes memory.
 */
import koffi from 'koffi'

// The running program: glibc or musl is already loaded in it.
const program = koffi.load(null)
const cSocket = program.func('int socket(int domain, int type, int protocol)') as Call
const cBind = program.func('int bind(int fd, const void *address, uint32_t length)') as Call
const cSetsockopt = program.func(
  'int setsockopt(int fd, int level, int option, const void *value, uint32_t length)',
) as Call
const cGetsockopt = program.func(
  'int getsockopt(int fd, int level, int option, void *value, _Inout_ uint32_t *length)',
) as Call & { async: (...args: readonly unknown[]) => void }
const cMemfdCreate = program.func('int memfd_create(const char *name, unsigned int flags)') as Call
// Its last argument is variadic in C. On every Linux that koffi has a binary for, those are passed like others.
const cFcntl = program.func('int fcntl(int fd, int command, int argument)') as Call
const cMmap = program.func(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)',
) as (address: null, length: number, protection: number, flags: number, fd: number, offset: number) => unknown

type Call = (...args: readonly (number | string | Buffer | [number])[]) => number

/** Returns a file descriptor, or a negated errno. The socket belongs to the network namespace of the calling thread. */
export function socket(domain: number, type: number, protocol: number): number {
  return resultOf(cSocket(domain, type, protocol))
}

/** Returns an errno, or 0. */
export function bind(fd: number, address: Buffer): number {
  return errnoOf(cBind(fd, address, address.length))
}

/** Returns an errno, or 0. */
export function setSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return errnoOf(cSetsockopt(fd, level, option, value, value.length))
}

/** Fills `value`. Some options read their arguments from its first bytes. Returns an errno, or 0. */
export function getSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return errnoOf(cGetsockopt(fd, level, option, value, [value.length]))
}

/** The same on another thread, for calls that take long. The errno cannot be read from there. */
export function getSocketOptionAsync(fd: number, level: number, option: number, value: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    cGetsockopt.async(fd, level, option, value, [value.length], (error: Error | null, result: number) =>
      error === null ? resolve(result === 0) : reject(error),
    )
  })
}

/** Returns the descriptor of a file that exists only in memory, or a negated errno. */
export function memoryFile(name: string, flags: number): number {
  return resultOf(cMemfdCreate(name, flags))
}

/** Returns an errno, or 0. */
export function addSeals(fd: number, seals: number): number {
  const addSealsCommand = 1033
  return errnoOf(cFcntl(fd, addSealsCommand, seals))
}

/** Returns the bytes of a file, to read and write, or an errno. They stay mapped until this process ends. */
export function mapShared(fd: number, size: number): ArrayBuffer | number {
  const [readAndWrite, shared, failed] = [3, 1, 2n ** 64n - 1n]
  const mapped = cMmap(null, size, readAndWrite, shared, fd, 0)
  return koffi.address(mapped) === failed ? koffi.errno() : koffi.view(mapped, size)
}

function resultOf(result: number): number {
  return result < 0 ? -koffi.errno() : result
}

function errnoOf(result: number): number {
  return result < 0 ? koffi.errno() : 0
}
