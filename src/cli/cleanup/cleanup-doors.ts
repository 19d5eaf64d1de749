/** The doors to the kernel that a clean-up goes through. */
import { answerDelivery } from '../../backends/userspace/portals/answer-rules.ts'
import { silentLogger as log } from '../../core/logger.ts'
import type { Links } from '../../dataplane/addresses/addresses.ts'
import { openLinks } from '../../dataplane/addresses/open-links.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import { commandIpset } from '../../dataplane/ipset/command-ipset.ts'
import type { Ipset } from '../../dataplane/ipset/ipset.ts'
import { findHostIptables } from '../../dataplane/iptables/cleanup/host-iptables.ts'
import type { HostIptables } from '../../dataplane/iptables/cleanup/host-iptables.ts'
import type { Ipvs } from '../../dataplane/ipvs/ipvs.ts'
import { procRealServerTable } from '../../dataplane/ipvs/real-server-table.ts'
import type { ReadRealServerTable } from '../../dataplane/ipvs/real-server-table.ts'
import type { MarkedDelivery } from '../../dataplane/marked-delivery/marked-delivery.ts'
import { netlinkMarkedDelivery } from '../../dataplane/marked-delivery/netlink-marked-delivery.ts'
import { netlinkNfacct } from '../../dataplane/nfacct/netlink-nfacct.ts'
import type { Nfacct } from '../../dataplane/nfacct/nfacct.ts'
import { commandRuleset } from '../../dataplane/nft/command/command-ruleset.ts'
import type { NftRuleset } from '../../dataplane/nft/nft-ruleset.ts'
import type { Host } from '../host/host.ts'

export interface CleanupDoors {
  readonly iptables: readonly HostIptables[]
  readonly nft: NftRuleset
  readonly links: Links
  readonly ipset: Ipset
  /** Where IPVS is a module, this loads it. */
  readonly openIpvs: (signal: AbortSignal) => Promise<Ipvs>
  readonly readServerTable: ReadRealServerTable
  readonly nfacct: Nfacct
  /** That of the userspace mode. */
  readonly delivery: MarkedDelivery
  readonly openBpf: () => Promise<Bpf>
  /** Where the ebpf mode pins. */
  readonly pins: string
  readonly ownNamespace: () => Promise<bigint | undefined>
}

/** What it takes of the machine to open them. */
export type CleanupHost = Pick<Host, 'clock' | 'exec' | 'openBpf' | 'openNetlink' | 'openSockets' | 'readTextFile'>

export async function openDoors(host: CleanupHost, pins: string, signal: AbortSignal): Promise<CleanupDoors> {
  const { clock, exec, openNetlink } = host
  const readText = (path: string) => host.readTextFile(path).catch(() => '')
  return {
    iptables: await findHostIptables({ exec, clock, log, readText }, signal),
    nft: commandRuleset({ exec, openNetlink }),
    links: await openLinks({ exec, openNetlink }),
    ipset: commandIpset(exec),
    async openIpvs(opening) {
      // Most nodes never had the mode: a daemon then need not carry this around.
      const { openIpvs } = await import('../../dataplane/ipvs/open-ipvs.ts')
      return openIpvs({ openNetlink, exec, log, signal: opening })
    },
    readServerTable: procRealServerTable,
    nfacct: netlinkNfacct({ open: openNetlink }),
    delivery: netlinkMarkedDelivery({ open: openNetlink, numbers: answerDelivery }),
    openBpf: () => host.openBpf(),
    pins,
    ownNamespace: async () => (await host.openSockets()).ownNamespace(),
  }
}
