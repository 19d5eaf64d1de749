import type { SyncSteps } from '../../core/sync/sync-steps.ts'
import { tracedDoor } from '../../core/sync/traced-door.ts'
import type { SpanAttributes } from '../../core/trace.ts'
import type { Iptables, Table } from './iptables.ts'

/** Each run of a tool that changes rules is a commit in the trace of the sync. */
export function tracedIptables(iptables: Iptables, steps: SyncSteps): Iptables {
  const tool = iptables.family === 'ipv4' ? 'iptables' : 'ip6tables'
  const one =
    (what: string) =>
    (table: Table, chain: string): SpanAttributes => ({ command: `${tool} ${what}`, chain: `${table}/${chain}` })
  return tracedDoor(iptables, steps, {
    restore: {
      before: (input) => ({
        command: `${tool}-restore`,
        bytes: typeof input === 'string' ? input.length : input.reduce((sum, piece) => sum + piece.length, 0),
      }),
    },
    ensureChain: { before: one('-N') },
    ensureRule: { before: one('-I') },
    deleteRule: { before: one('-D') },
    deleteChain: { before: one('-X') },
  })
}
