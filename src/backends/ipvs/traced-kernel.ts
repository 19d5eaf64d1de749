import type { SyncSteps } from '../../core/sync/sync-steps.ts'
import { tracedDoor } from '../../core/sync/traced-door.ts'
import { tracedIptables } from '../../dataplane/iptables/traced-iptables.ts'
import type { Kernel } from './kernel.ts'

/** Whatever changes the kernel is a commit in the trace of the sync. */
export function tracedKernel({ ipvs, ipset, addresses, iptables }: Kernel, steps: SyncSteps): Kernel {
  const after = (errors: ReadonlyMap<unknown, unknown>) => ({ errors: errors.size })
  return {
    ipvs: tracedDoor(ipvs, steps, {
      apply: { before: (operations) => ({ command: 'ipvs', operations: operations.length }), after },
    }),
    ipset: tracedDoor(ipset, steps, {
      ensure: { before: (sets) => ({ command: 'ipset create', operations: sets.length }) },
      apply: { before: (changes) => ({ command: 'ipset', operations: changes.length }), after },
    }),
    addresses: tracedDoor(addresses, steps, {
      ensureDummy: { before: (link) => ({ command: 'ip link add', link }) },
      add: { before: (link, ips) => ({ command: 'ip address add', link, operations: ips.length }), after },
      remove: { before: (link, ips) => ({ command: 'ip address del', link, operations: ips.length }), after },
    }),
    iptables: tracedIptables(iptables, steps),
  }
}
