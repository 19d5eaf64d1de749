/** Reads the legacy tables of one family without a tool: their sizes, which takes microseconds, and their bytes. */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Family } from '../../net/ip.ts'
import type { Libc } from '../libc/load-libc.ts'
import { IptablesError } from './iptables.ts'
import type { Table } from './iptables.ts'
import type { LegacyEntries } from './legacy-chain-digests.ts'

const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
const protocols = {
  ipv4: { domain: 2, level: 0 },
  ipv6: { domain: 10, level: 41 },
} as const
/** IPT_SO_GET_INFO and IPT_SO_GET_ENTRIES. The numbers are the same for IPv6. */
const [getInfo, getEntries] = [64, 65]
/** struct ipt_getinfo: a name of 32 bytes, then the hooks, their offsets, the number of entries and their bytes. */
const infoBytes = 84
const nameBytes = 32
const [hookMaskAt, hookEntriesAt, sizeAt] = [32, 36, 80]
/** struct ipt_get_entries: the name and the size, then the entries at a multiple of eight. */
const entriesAt = 40
const hookNames = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'] as const

export type SocketCalls = Pick<Libc, 'socket' | 'getSocketOption' | 'getSocketOptionAsync'>

export class LegacyTables implements Disposable {
  readonly #libc: SocketCalls
  readonly #level: number
  readonly #fd: number

  constructor(libc: SocketCalls, family: Family) {
    const { domain, level } = protocols[family]
    this.#libc = libc
    this.#level = level
    this.#fd = libc.socket(domain, SOCK_DGRAM_CLOEXEC, 0)
    if (this.#fd < 0) throw failure('socket', -this.#fd)
  }

  /** Sizes and offsets. Returns nothing if the kernel has no such table. */
  info(table: Table): Buffer | undefined {
    const info = Buffer.alloc(infoBytes)
    info.write(table)
    const errno = this.#libc.getSocketOption(this.#fd, this.#level, getInfo, info)
    if (errno === constants.errno.ENOENT) return undefined
    if (errno !== 0) throw failure('getsockopt', errno)
    return info.subarray(nameBytes)
  }

  /** The entries are valid only while `read` runs. Returns nothing if the size of the table has changed since `info`. */
  async read<T>(table: Table, info: Buffer, read: (entries: LegacyEntries) => T): Promise<T | undefined> {
    const size = info.readUInt32LE(sizeAt - nameBytes)
    // Filled with zeros, because the kernel writes names without clearing the rest of their field.
    const answer = Buffer.alloc(entriesAt + size)
    answer.write(table)
    answer.writeUInt32LE(size, nameBytes)
    try {
      // On another thread, because it takes a fifth of a second for the largest tables: the kernel adds up all counters.
      const isAnswered = await this.#libc.getSocketOptionAsync(this.#fd, this.#level, getEntries, answer)
      return isAnswered ? read({ bytes: answer.subarray(entriesAt), hooks: hooksOf(info) }) : undefined
    } finally {
      free(answer)
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }
}

/**
 * Frees the memory now, not at the next garbage collection: it is 50 MB for 10,000 services, every ten seconds. A buffer
 * that is transferred to a closed port is freed. From Node 22 on, `ArrayBuffer.transfer` can do this.
 */
function free({ buffer }: Buffer): void {
  const { port1 } = new MessageChannel()
  port1.close()
  port1.postMessage(null, [buffer as ArrayBuffer])
}

function hooksOf(info: Buffer): ReadonlyMap<number, string> {
  const mask = info.readUInt32LE(hookMaskAt - nameBytes)
  const hooks = new Map<number, string>()
  for (const [hook, name] of hookNames.entries())
    if ((mask & (1 << hook)) !== 0) hooks.set(info.readUInt32LE(hookEntriesAt - nameBytes + 4 * hook), name)
  return hooks
}

function failure(call: string, errno: number): IptablesError {
  const isDenied = errno === constants.errno.EPERM || errno === constants.errno.EACCES
  return new IptablesError(
    isDenied ? 'not-permitted' : 'unsupported',
    `${call} failed with errno ${errno}${isDenied ? ': run as root, or give the container CAP_NET_ADMIN' : ''}`,
  )
}
