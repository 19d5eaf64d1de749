/** The two calls of the C library that Node has no door to. All foreign functions of this folder are here. */
import { IptablesError } from './iptables.ts'

export interface SocketFfi {
  /** A file descriptor; close it with `fs.closeSync`. It belongs to the network namespace of the calling thread. */
  socket(domain: number, type: number, protocol: number): number
  /** Fills `value`, whose first bytes may be the question. False when there is no such thing (ENOENT). */
  getsockopt(fd: number, level: number, option: number, value: Buffer): boolean
  /** The same on a thread of its own. False when it fails for whatever reason. */
  getsockoptAside(fd: number, level: number, option: number, value: Buffer): Promise<boolean>
}

const ENOENT = 2
const EPERM = 1
const EACCES = 13

/** Rejects where koffi has no binary for this platform. */
export async function loadSocketFfi(): Promise<SocketFfi> {
  const { default: koffi } = await import('koffi')
  // No name: what this process has loaded already, whichever C library that is.
  const libc = koffi.load(null)
  const socket = libc.func('int socket(int domain, int type, int protocol)')
  const getsockopt = libc.func('int getsockopt(int fd, int level, int option, void *value, _Inout_ uint32_t *length)')
  const failure = (call: string): IptablesError => {
    const errno = koffi.errno()
    const isDenied = errno === EPERM || errno === EACCES
    return new IptablesError(
      isDenied ? 'not-permitted' : 'unsupported',
      `${call} failed with errno ${errno}${isDenied ? ': run as root, or give the container CAP_NET_ADMIN' : ''}`,
    )
  }
  return {
    socket(domain, type, protocol) {
      const fd = Number(socket(domain, type, protocol))
      if (fd < 0) throw failure('socket')
      return fd
    },
    getsockopt(fd, level, option, value) {
      if (Number(getsockopt(fd, level, option, value, [value.length])) === 0) return true
      if (koffi.errno() === ENOENT) return false
      throw failure('getsockopt')
    },
    getsockoptAside(fd, level, option, value) {
      const length = [value.length]
      return new Promise((resolve, reject) => {
        getsockopt.async(fd, level, option, value, length, (error: Error | null, result: unknown) =>
          error === null ? resolve(Number(result) === 0) : reject(error),
        )
      })
    },
  }
}
