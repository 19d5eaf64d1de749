/** The sizes and offsets of legacy tables, which the kernel tells without handing out the rules. */
import type { Family } from '../../net/ip.ts'
import type { ChangeDetector } from './change-detector.ts'
import type { Table } from './iptables.ts'
import { LegacyTables } from './legacy-tables.ts'
import type { SocketCalls } from './legacy-tables.ts'

export function legacyTableInfo(libc: SocketCalls, family: Family, tables: readonly Table[]): ChangeDetector {
  const kernel = new LegacyTables(libc, family)
  return {
    token: async () => tables.map((table) => kernel.info(table)?.toString('base64') ?? 'none').join(' '),
    isCheap: true,
    [Symbol.asyncDispose]: async () => kernel[Symbol.dispose](),
  }
}
