/**
 * The few C functions that make a netlink socket, and the only file that knows about FFI. Once the socket exists it is
 * a file descriptor like any other, and Node's own `fs` reads and writes it.
 *
 * Import it with `import()`: it does not load where koffi has no binary. What it binds, it binds once.
 */
import koffi from 'koffi'

// The running program has glibc or musl in it already, whichever it was built for.
const program = koffi.load(null)
const cSocket = program.func('int socket(int domain, int type, int protocol)') as Call
const cBind = program.func('int bind(int fd, const void *address, uint32_t length)') as Call
const cSetsockopt = program.func(
  'int setsockopt(int fd, int level, int option, const void *value, uint32_t length)',
) as Call

type Call = (...args: readonly (number | Buffer)[]) => number

/** A file descriptor, or a negated errno. */
export function socket(domain: number, type: number, protocol: number): number {
  const fd = cSocket(domain, type, protocol)
  return fd < 0 ? -koffi.errno() : fd
}

/** An errno, 0 when all went well. */
export function bind(fd: number, address: Buffer): number {
  return cBind(fd, address, address.length) < 0 ? koffi.errno() : 0
}

/** An errno, 0 when all went well. */
export function setSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return cSetsockopt(fd, level, option, value, value.length) < 0 ? koffi.errno() : 0
}
