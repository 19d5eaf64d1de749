/** Everybody who may have left something. A new data plane is listed here; a door that only it needs goes into `cleanup-doors.ts`. */
import * as ebpf from '../../backends/ebpf/leftovers.ts'
import * as iptables from '../../backends/iptables/leftovers.ts'
import * as ipvs from '../../backends/ipvs/leftovers.ts'
import * as nftables from '../../backends/nftables/leftovers.ts'
import * as userspace from '../../backends/userspace/leftovers.ts'
import type { ProxyMode } from '../../config/proxy-config.ts'
import type { Findings } from '../../core/leftover.ts'
import type { IptablesLook } from '../../dataplane/iptables/cleanup/look-into-iptables.ts'
import type { FindOwnChain, OwnChain } from '../../dataplane/iptables/cleanup/own-chain.ts'
import type { CleanupDoors } from './cleanup-doors.ts'
import { findEmptiedTables } from './emptied-tables.ts'

/** A node whose iptables have been looked at. */
interface LookedAtNode extends CleanupDoors {
  readonly looks: readonly IptablesLook[]
  readonly findOwnChain: FindOwnChain
  /** What stays in iptables, as `iptables-save` prints it. */
  readonly foreignRules: readonly string[]
}

interface Source {
  /** The mode of Fairlead that has these chains. */
  readonly mode?: ProxyMode
  /** Of iptables. They go first, those of all sources together. */
  readonly ownChains?: readonly OwnChain[]
  /** What else there is. */
  readonly findLeftovers: (node: LookedAtNode, signal: AbortSignal) => Promise<Findings>
}

/** In the order in which things go. */
export const sources: readonly Source[] = [
  // Sockets go on with nftables as soon as their programs are gone.
  { mode: 'ebpf', findLeftovers: ebpf.findLeftovers },
  { mode: 'nftables', findLeftovers: nftables.findLeftovers },
  { findLeftovers: findEmptiedTables },
  { mode: 'ipvs', ownChains: ipvs.ownChains, findLeftovers: ipvs.findLeftovers },
  { mode: 'iptables', ownChains: iptables.ownChains, findLeftovers: iptables.findLeftovers },
  { mode: 'userspace', ownChains: userspace.ownChains, findLeftovers: userspace.findLeftovers },
]
