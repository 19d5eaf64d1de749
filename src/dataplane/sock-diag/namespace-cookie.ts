import type { Libc } from '../libc/load-libc.ts'

/** The number of the network namespace that a socket belongs to. Missing before Linux 5.14. */
export function namespaceCookie(libc: Libc, fd: number): bigint | undefined {
  const [socketLevel, netnsCookie] = [1, 71]
  const value = Buffer.alloc(8)
  return libc.getSocketOption(fd, socketLevel, netnsCookie, value) === 0 ? value.readBigUInt64LE(0) : undefined
}
