/** The sizes and offsets of legacy tables, which the kernel tells without handing out the rules. */
import { closeSync } from 'node:fs'
import type { Family } from '../../net/ip.ts'
import type { ChangeDetector } from './change-detector.ts'
import type { Table } from './iptables.ts'
import type { SocketFfi } from './socket-ffi.ts'

const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
const protocols = {
  ipv4: { domain: 2, level: 0 },
  ipv6: { domain: 10, level: 41 },
} as const
/** IPT_SO_GET_INFO, and IP6T_SO_GET_INFO too. */
const GET_INFO = 64
/** struct ipt_getinfo: a name of 32 bytes, then the hooks, their offsets, the number of entries and their bytes. */
const infoLength = 84
const nameLength = 32

export function legacyTableInfo(ffi: SocketFfi, family: Family, tables: readonly Table[]): ChangeDetector {
  const { domain, level } = protocols[family]
  const fd = ffi.socket(domain, SOCK_DGRAM_CLOEXEC, 0)
  return {
    async token() {
      const parts = tables.map((table) => {
        const info = Buffer.alloc(infoLength)
        info.write(table)
        const exists = ffi.getsockopt(fd, level, GET_INFO, info)
        return exists ? info.toString('base64', nameLength) : 'none'
      })
      return parts.join(' ')
    },
    isCheap: true,
    [Symbol.dispose]() {
      closeSync(fd)
    },
  }
}
