/** Removes exactly what it is given, in its order, and goes on after a failure: the rest must not wait for it. */
import { cleanupInput } from '../../backends/iptables/cleanup-input.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import type { CleanupHost } from './cleanup-host.ts'
import type {
  IptablesChainLeftover,
  IptablesRuleLeftover,
  Leftover,
  NamedLeftover,
  NftTableLeftover,
  VirtualServerLeftover,
} from './leftover.ts'
import { runNft } from './nft-tool.ts'
import { runTool } from './run-tool.ts'

export interface Removal {
  readonly removed: readonly Leftover[]
  readonly problems: readonly string[]
}

export async function removeLeftovers(
  leftovers: readonly Leftover[],
  host: CleanupHost,
  signal: AbortSignal,
): Promise<Removal> {
  const removed: Leftover[] = []
  const problems: string[] = []
  for (const step of stepsFor(leftovers, host, signal)) {
    try {
      await step.remove()
      removed.push(...step.leftovers)
    } catch (error) {
      signal.throwIfAborted()
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { removed, problems }
}

interface Step {
  /** What goes together, or not at all. */
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
  const found = host.iptables.find(({ tool }) => tool === first?.tool)
  if (first === undefined || found === undefined) return
  const input = cleanupInput({
    table: first.table,
    jumps: leftovers.filter((leftover) => leftover.kind === 'iptables-rule'),
    chains: leftovers.filter((leftover) => leftover.kind === 'iptables-chain'),
  })
  await found.iptables.restore(input, signal)
}

async function removeOne(
  leftover: Exclude<Leftover, IptablesLeftover>,
  { exec, nfacct }: CleanupHost,
  signal: AbortSignal,
): Promise<void> {
  switch (leftover.kind) {
    case 'nft-chain':
      return runNft(exec, [deleteChain(leftover)], signal)
    case 'nft-table':
      return runNft(exec, deleteTable(leftover), signal)
    case 'virtual-server':
      return removeVirtualServer(exec, leftover, signal)
    case 'interface':
    case 'ipset':
      return removeNamed(exec, leftover, signal)
    case 'counter':
      return nfacct.remove(leftover.name, signal)
    default:
      return leftover satisfies never
  }
}

function deleteChain({ family, table, chain }: { family: string; table: string; chain: string }): string {
  return `delete chain ${family} ${table} ${chain}`
}

/** A chain that is deleted by name must be empty: rules that came in the meantime make the transaction fail. */
function deleteTable({ family, table, emptyChains = [] }: NftTableLeftover): readonly string[] {
  return [...emptyChains.map((chain) => deleteChain({ family, table, chain })), `delete table ${family} ${table}`]
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
