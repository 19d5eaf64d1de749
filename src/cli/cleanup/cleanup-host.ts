/** What a clean-up may use of this machine. */
import { readFile } from 'node:fs/promises'
import { answerDelivery } from '../../backends/userspace/portals/answer-rules.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import { processExec } from '../../dataplane/exec/exec.ts'
import type { MarkedDelivery } from '../../dataplane/marked-delivery/marked-delivery.ts'
import { netlinkMarkedDelivery } from '../../dataplane/marked-delivery/netlink-marked-delivery.ts'
import { openNetlink } from '../../dataplane/netlink/open-netlink.ts'
import { netlinkNfacct } from '../../dataplane/nfacct/netlink-nfacct.ts'
import type { Nfacct } from '../../dataplane/nfacct/nfacct.ts'
import { listTables } from '../../dataplane/nft/list-tables.ts'
import type { TableName } from '../../dataplane/nft/list-tables.ts'
import { findHostIptables } from './host-iptables.ts'
import type { HostIptables } from './host-iptables.ts'

export interface CleanupHost {
  readonly exec: Exec
  readonly iptables: readonly HostIptables[]
  readonly nfacct: Nfacct
  /** That of the userspace mode. */
  readonly delivery: MarkedDelivery
  /** Of nf_tables, asked of the kernel. */
  readonly listTables: (signal: AbortSignal) => Promise<readonly TableName[]>
  /** The text of a file, or an empty one when there is none. */
  readonly readText: (path: string) => Promise<string>
}

export async function thisHost(signal: AbortSignal): Promise<CleanupHost> {
  const exec = processExec
  return {
    exec,
    iptables: await findHostIptables({ exec, clock: systemClock, log: silentLogger }, signal),
    nfacct: netlinkNfacct({ open: openNetlink }),
    delivery: netlinkMarkedDelivery({ open: openNetlink, numbers: answerDelivery }),
    listTables: (asking) => listTables(openNetlink, asking),
    readText: (path) => readFile(path, 'utf8').catch(() => ''),
  }
}
