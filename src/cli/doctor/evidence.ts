/** What checks may look at. Each piece is read at most once, and only where a check needs it. */
import type { ApiFacts } from './evidence/api.ts'
import type { BridgeFacts } from './evidence/bridges.ts'
import type { ClusterFacts } from './evidence/cluster.ts'
import type { ConfinementFacts } from './evidence/confinement.ts'
import type { DaemonFacts } from './evidence/daemon.ts'
import type { EbpfFacts } from './evidence/ebpf.ts'
import type { FolderFacts } from './evidence/folders.ts'
import type { HnsFacts } from './evidence/hns.ts'
import type { IptablesFacts } from './evidence/iptables.ts'
import type { IpvsFacts } from './evidence/ipvs.ts'
import type { LeftoverFacts } from './evidence/leftovers.ts'
import type { LimitFacts } from './evidence/limits.ts'
import type { Listener } from './evidence/listeners.ts'
import type { NftFacts } from './evidence/nft.ts'
import type { ProcessFacts } from './evidence/processes.ts'
import type { RuleChange } from './evidence/rule-changes.ts'
import type { SettingFacts } from './evidence/settings.ts'
import type { ToolFacts } from './evidence/tools.ts'
import type { HookedChain } from './rules/rule.ts'

export interface Evidence {
  readonly api: ApiFacts
  readonly bridges: BridgeFacts
  /** Effective capabilities of this process, as a number. */
  readonly capabilities: bigint
  readonly cluster: ClusterFacts
  readonly confinement: ConfinementFacts
  readonly daemon: DaemonFacts
  readonly ebpf: EbpfFacts
  readonly folders: FolderFacts
  readonly foreignRules: readonly HookedChain[]
  readonly hns: HnsFacts
  readonly iptables: IptablesFacts
  readonly ipvs: IpvsFacts
  readonly leftovers: LeftoverFacts
  readonly limits: LimitFacts
  readonly listeners: readonly Listener[]
  readonly nft: NftFacts
  readonly processes: ProcessFacts
  readonly ruleChanges: readonly RuleChange[]
  readonly settings: SettingFacts
  readonly tools: ToolFacts
}

export type EvidenceName = keyof Evidence

type ReadEvidence = <Name extends EvidenceName>(name: Name) => Promise<Evidence[Name]>

/** A reader may look at what another one has read. It rejects with a CannotLook where it may not, or cannot. */
export type EvidenceReaders = {
  readonly [Name in EvidenceName]: (read: ReadEvidence, signal: AbortSignal) => Promise<Evidence[Name]>
}

/** Why there is no evidence, and what would help. */
export class CannotLook extends Error {
  override readonly name = 'CannotLook'
  readonly fix: string | undefined

  constructor(message: string, fix?: string, options?: ErrorOptions) {
    super(message, options)
    this.fix = fix
  }
}
