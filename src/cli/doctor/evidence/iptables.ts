/** Both variants of iptables, what each can do here, and whether rules are in both. */
import { silentLogger as log } from '../../../core/logger.ts'
import { findIptables } from '../../../dataplane/iptables/find-iptables.ts'
import { findHostIptables } from '../../../dataplane/iptables/cleanup/host-iptables.ts'
import type { HostIptables } from '../../../dataplane/iptables/cleanup/host-iptables.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import type { Variant } from '../../../dataplane/iptables/iptables.ts'
import { keepsClientAddress, missingExtensions } from '../../../dataplane/iptables/probe-extensions.ts'
import type { MissingExtension } from '../../../dataplane/iptables/probe-extensions.ts'
import { SaveReader } from '../../../dataplane/iptables/save-reader.ts'
import type { SavedTables } from '../../../dataplane/iptables/save-reader.ts'
import { netlinkNfacct } from '../../../dataplane/nfacct/netlink-nfacct.ts'
import { isNfacctUsable } from '../../../dataplane/nfacct/probe-nfacct.ts'
import type { Family } from '../../../net/ip.ts'
import { modesOfChain } from '../../cleanup/find-leftovers.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'
import type { Setup } from '../setup.ts'

export interface IptablesFacts {
  /** The variant that the proxy uses on this node; undefined where there is none. */
  readonly variant: Variant | undefined
  /** Why it cannot be used, by family. */
  readonly obstacles: readonly { readonly family: Family; readonly reason: string }[]
  readonly missing: readonly MissingExtension[]
  /** What lets pods see the client in userspace mode; empty: it is there, or the mode is another one. */
  readonly missingForClients: readonly MissingExtension[]
  readonly hasNfacct: boolean
  readonly looks: readonly IptablesTables[]
}

/** What one variant holds for one family. */
export interface IptablesTables extends Pick<HostIptables, 'family' | 'variant' | 'tool' | 'unseenTables'> {
  readonly saved: SavedTables
  /** Of the kernel's chains, by `TABLE CHAIN`: `ACCEPT` or `DROP`. */
  readonly policies: ReadonlyMap<string, string>
}

/** Chains whose rules need no look: those of the proxy itself, above all. They may be 25 MB. */
export type IsTrusted = (table: string, chain: string) => boolean

/**
 * What another mode has left in nat may catch our packets. Before the start that does not matter: Fairlead removes it.
 * Other tables are full of chains called KUBE-…, of the kubelet and of network plugins, that only filter.
 */
export function trustedChains({ config: { mode }, isBeforeStart }: Pick<Setup, 'config' | 'isBeforeStart'>): IsTrusted {
  const modesOf = modesOfChain()
  return (table, chain) =>
    chain.startsWith('KUBE-') && (isBeforeStart || table !== 'nat' || modesOf(table, chain).includes(mode))
}

export async function readIptables(
  host: Pick<Host, 'exec' | 'clock' | 'readTextFile' | 'openNetlink'>,
  setup: Pick<Setup, 'families' | 'config' | 'isBeforeStart'>,
  signal: AbortSignal,
): Promise<IptablesFacts> {
  const { exec, clock, openNetlink } = host
  const { families } = setup
  const isTrusted = trustedChains(setup)
  const readText = (path: string) => host.readTextFile(path).catch(() => '')
  try {
    const found = await findHostIptables({ exec, clock, log, readText }, signal)
    const looks = await Promise.all(
      found.filter(({ family }) => families.includes(family)).map((one) => readTables(one, isTrusted, signal)),
    )
    let variant: Variant | undefined
    const obstacles: { family: Family; reason: string }[] = []
    const missing: MissingExtension[] = []
    const missingForClients: MissingExtension[] = []
    for (const family of families) {
      const iptables = await findIptables({ exec, clock, log, family, signal })
      try {
        variant ??= (await iptables.features(signal)).variant
        if (!(await iptables.isSupported(signal)))
          obstacles.push({ family, reason: 'the kernel has no nat table for it' })
      } catch (error) {
        if (!(error instanceof IptablesError) || error.reason === 'not-permitted') throw error
        obstacles.push({ family, reason: error.message })
        continue
      }
      const tool = found.find((one) => one.family === family && one.variant === variant)?.tool
      if (tool === undefined) continue
      missing.push(...(await missingExtensions(exec, tool, signal)))
      if (setup.config.mode === 'userspace')
        missingForClients.push(...(await missingExtensions(exec, tool, signal, [keepsClientAddress])))
    }
    const hasNfacct = await isNfacctUsable(netlinkNfacct({ open: openNetlink }), log, signal)
    return { variant, obstacles, missing, missingForClients, hasNfacct, looks }
  } catch (error) {
    if (!(error instanceof IptablesError)) throw error
    const fix = error.reason === 'not-permitted' ? 'Run as root, with CAP_NET_ADMIN and CAP_NET_RAW.' : undefined
    throw new CannotLook(error.message, fix, { cause: error })
  }
}

async function readTables(
  { family, variant, tool, unseenTables, iptables }: HostIptables,
  isTrusted: IsTrusted,
  signal: AbortSignal,
): Promise<IptablesTables> {
  const reader = new SaveReader({ isSummaryEnough: isTrusted })
  const policies = new PolicyReader()
  if (tool !== undefined)
    try {
      await iptables.readAll((piece) => {
        reader.add(piece)
        policies.add(piece)
      }, signal)
    } catch (error) {
      // A kernel without this variant has no rules of it.
      if (!(error instanceof IptablesError && error.reason === 'unsupported')) throw error
    }
  return { family, variant, tool, unseenTables, saved: reader.end(), policies: policies.policies }
}

/** Picks out the lines `*TABLE` and `:CHAIN POLICY [0:0]` of what iptables-save prints. */
class PolicyReader {
  readonly policies = new Map<string, string>()
  #table = ''
  #rest = ''

  add(piece: Buffer): void {
    const text = this.#rest + piece.toString('latin1')
    const end = text.lastIndexOf('\n')
    this.#rest = text.slice(end + 1)
    for (const [, table, chain, policy = ''] of text
      .slice(0, end + 1)
      .matchAll(/^(?:\*(\w+)|:(\S+) (ACCEPT|DROP) \[.*)$/gm))
      if (table !== undefined) this.#table = table
      else this.policies.set(`${this.#table} ${chain}`, policy)
  }
}
