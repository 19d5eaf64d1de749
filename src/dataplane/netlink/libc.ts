/**
 * The few C functions that make a netlink socket, and the only file that knows about FFI. Once the socket exists it is
 * a file descriptor like any other, and Node's own `fs` reads and writes it.
 */
import type { LibraryHandle } from 'koffi'

export interface Libc {
  /** A file descriptor, or a negated errno. */
  socket(domain: number, type: number, protocol: number): number
  /** An errno, 0 when all went well. */
  bind(fd: number, address: Buffer): number
  /** An errno, 0 when all went well. */
  setOption(fd: number, level: number, option: number, value: Buffer): number
}

/** Rejects where koffi has no binary for this machine. */
export async function loadLibc(): Promise<Libc> {
  const { default: koffi } = await import('koffi')
  // The running program has glibc or musl in it already, whichever it was built for.
  const library: LibraryHandle = koffi.load(null)
  const socket = library.func('int socket(int domain, int type, int protocol)') as Call
  const bind = library.func('int bind(int fd, const void *address, uint32_t length)') as Call
  const setsockopt = library.func(
    'int setsockopt(int fd, int level, int option, const void *value, uint32_t length)',
  ) as Call
  const errnoOf = (result: number) => (result < 0 ? koffi.errno() : 0)
  return {
    socket(domain, type, protocol) {
      const fd = socket(domain, type, protocol)
      return fd < 0 ? -koffi.errno() : fd
    },
    bind: (fd, address) => errnoOf(bind(fd, address, address.length)),
    setOption: (fd, level, option, value) => errnoOf(setsockopt(fd, level, option, value, value.length)),
  }
}

type Call = (...args: readonly (number | Buffer)[]) => number
