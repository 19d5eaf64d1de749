/** Removes exactly what it is given, in its order, and goes on after a failure: the rest must not wait for it. */
import { cleanupInput } from '../../dataplane/iptables/cleanup/cleanup-input.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import type { CleanupHost } from './cleanup-host.ts'
import type {
  EmptyTableLeftover,
  IptablesChainLeftover,
  IptablesRuleLeftover,
  Leftover,
  NamedLeftover,
  NftChainLeftover,
  VirtualServerLeftover,
} from './leftover.ts'
import { deleteNftChain, deleteNftTable, nftTableShape } from './nft-tool.ts'
import { runTool } from './run-tool.ts'

/** What went together, or why it did not. */
export type Removal = { readonly removed: readonly Leftover[] } | { readonly problem: string }

export async function* removeLeftovers(
  leftovers: readonly Leftover[],
  host: CleanupHost,
  signal: AbortSignal,
): AsyncGenerator<Removal> {
  for (const step of stepsFor(leftovers, host, signal)) yield await outcomeOf(step, signal)
}

async function outcomeOf({ leftovers, remove }: Step, signal: AbortSignal): Promise<Removal> {
  try {
    await remove()
    return { removed: leftovers }
  } catch (error) {
    signal.throwIfAborted()
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

interface Step {
  readonly leftovers: readonly Leftover[]
  readonly remove: () => Promise<void>
}

type IptablesLeftover = IptablesRuleLeftover | IptablesChainLeftover

function stepsFor(leftovers: readonly Leftover[], host: CleanupHost, signal: AbortSignal): readonly Step[] {
  const inIptables: IptablesLeftover[] = []
  const others: Exclude<Leftover, IptablesLeftover>[] = []
  for (const leftover of leftovers)
    if (leftover.kind === 'iptables-rule' || leftover.kind === 'iptables-chain') inIptables.push(leftover)
    else others.push(leftover)
  return [
    ...[...byTable(inIptables).values()].map((together) => ({
      leftovers: together,
      remove: () => removeFromTable(together, host, signal),
    })),
    ...others.map((leftover) => ({ leftovers: [leftover], remove: () => removeOne(leftover, host, signal) })),
  ]
}

/** iptables-restore changes one table at a time. */
function byTable(leftovers: readonly IptablesLeftover[]): ReadonlyMap<string, readonly IptablesLeftover[]> {
  const groups = new Map<string, IptablesLeftover[]>()
  for (const leftover of leftovers) {
    const key = `${leftover.tool} ${leftover.table}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [leftover])
    else group.push(leftover)
  }
  return groups
}

async function removeFromTable(
  leftovers: readonly IptablesLeftover[],
  host: CleanupHost,
  signal: AbortSignal,
): Promise<void> {
  const [first] = leftovers
  if (first === undefined) return
  const input = cleanupInput({
    table: first.table,
    jumps: leftovers.filter((leftover) => leftover.kind === 'iptables-rule'),
    chains: leftovers.filter((leftover) => leftover.kind === 'iptables-chain'),
  })
  await iptablesOf(first.tool, host).restore(input, signal)
}

function iptablesOf(tool: string, host: CleanupHost): Iptables {
  const found = host.iptables.find((candidate) => candidate.tool === tool)
  if (found === undefined) throw new Error(`${tool} disappeared during the clean-up`)
  return found.iptables
}

async function removeOne(
  leftover: Exclude<Leftover, IptablesLeftover>,
  host: CleanupHost,
  signal: AbortSignal,
): Promise<void> {
  const { exec, nfacct, delivery } = host
  switch (leftover.kind) {
    case 'nft-chain':
      return removeEmptyChain(host, leftover, signal)
    case 'empty-nft-table':
      return removeEmptyTable(exec, leftover, signal)
    case 'nft-table':
      return deleteNftTable(exec, leftover, signal)
    case 'virtual-server':
      return removeVirtualServer(exec, leftover, signal)
    case 'interface':
    case 'ipset':
      return removeNamed(exec, leftover, signal)
    case 'counter':
      return nfacct.remove(leftover.name, signal)
    case 'routing-rule':
      return delivery.remove(leftover.family, signal)
    default:
      return leftover satisfies never
  }
}

/** nft takes along what is in a chain, and rules may have come since the look; iptables refuses to. */
async function removeEmptyChain(host: CleanupHost, leftover: NftChainLeftover, signal: AbortSignal): Promise<void> {
  const { tool, family, table, chain } = leftover
  try {
    await iptablesOf(tool, host).deleteChain(table, chain, signal)
  } catch (error) {
    if (!(error instanceof IptablesError)) throw error
    const { chainsByName } = await nftTableShape(host.exec, leftover, signal)
    if (chainsByName.get(chain)?.ruleCount !== 0)
      throw new Error(`nft ${family} ${table}: chain ${chain} stays, because another program uses it now`, {
        cause: error,
      })
    // Older versions of iptables do not let go of the kernel's chains.
    await deleteNftChain(host.exec, leftover, signal)
  }
}

/** A table goes with all that is in it, so this looks again, immediately before. */
async function removeEmptyTable(exec: Exec, leftover: EmptyTableLeftover, signal: AbortSignal): Promise<void> {
  const { chainsByName, hasOtherObjects } = await nftTableShape(exec, leftover, signal)
  if (hasOtherObjects || chainsByName.size > 0)
    throw new Error(`nft: table ${leftover.family} ${leftover.table} stays, because another program uses it now`)
  await deleteNftTable(exec, leftover, signal)
}

const protocolFlags = { tcp: '-t', udp: '-u', sctp: '--sctp-service' } as const

async function removeVirtualServer(exec: Exec, leftover: VirtualServerLeftover, signal: AbortSignal): Promise<void> {
  const { protocol, address } = leftover
  const doing = `remove the virtual server ${protocol} ${address}`
  await runTool(exec, { program: 'ipvsadm', args: ['-D', protocolFlags[protocol], address], doing }, signal)
}

async function removeNamed(exec: Exec, { kind, name }: NamedLeftover, signal: AbortSignal): Promise<void> {
  const doing = `remove ${kind} ${name}`
  const run =
    kind === 'ipset'
      ? { program: 'ipset', args: ['destroy', name], doing }
      : { program: 'ip', args: ['link', 'delete', 'dev', name], doing }
  await runTool(exec, run, signal)
}
