/**
 * The few C functions that Node has no door to, and the only file that knows about FFI: sockets of kinds that Node does
 * not have, and memory that two processes share. Both are file descriptors, which Node's own `fs` reads, writes and
 * closes.
 *
 * Load it with `loadLibc`: it does not load where koffi has no binary, and takes memory. What it binds, it binds once.
 */
import koffi from 'koffi'

// The running program has glibc or musl in it already, whichever it was built for.
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
// Its last argument is one of "…", which are passed like others on all Linux that koffi has a binary for.
const cFcntl = program.func('int fcntl(int fd, int command, int argument)') as Call
const cMmap = program.func(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)',
) as (address: null, length: number, protection: number, flags: number, fd: number, offset: number) => unknown

type Call = (...args: readonly (number | string | Buffer | [number])[]) => number

/** A file descriptor, or a negated errno. It belongs to the network namespace of the calling thread. */
export function socket(domain: number, type: number, protocol: number): number {
  return resultOf(cSocket(domain, type, protocol))
}

/** An errno, 0 when all went well. */
export function bind(fd: number, address: Buffer): number {
  return errnoOf(cBind(fd, address, address.length))
}

/** An errno, 0 when all went well. */
export function setSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return errnoOf(cSetsockopt(fd, level, option, value, value.length))
}

/** Fills `value`, whose first bytes may be the question. An errno, 0 when all went well. */
export function getSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return errnoOf(cGetsockopt(fd, level, option, value, [value.length]))
}

/** The same on a thread of its own. False when it fails: the errno stays on that thread. */
export function getSocketOptionAside(fd: number, level: number, option: number, value: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    cGetsockopt.async(fd, level, option, value, [value.length], (error: Error | null, result: number) =>
      error === null ? resolve(result === 0) : reject(error),
    )
  })
}

/** The descriptor of a file that is nowhere but in memory, or a negated errno. */
export function memoryFile(name: string, flags: number): number {
  return resultOf(cMemfdCreate(name, flags))
}

/** An errno, 0 when all went well. */
export function addSeals(fd: number, seals: number): number {
  const addSealsCommand = 1033
  return errnoOf(cFcntl(fd, addSealsCommand, seals))
}

/** The bytes of a file, to read and write; an errno when they cannot be had. They stay mapped until this process ends. */
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
