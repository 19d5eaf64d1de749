/** One life of a proxy in its nftables mode: first sync, endpoints changed one by one, then many at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Namespace } from '../../packet/testing/namespace.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { CommitWatch } from './commit-watch.ts'
import { tableSize } from './table-size.ts'
import type { TableSize } from './table-size.ts'

export interface NftablesCase {
  readonly program: ProxyProgram
  /** The name of its table. */
  readonly table: string
  readonly services: number
  /** How many endpoints change, one after the other. */
  readonly changes: number
}

export interface NftablesRun {
  /** As the proxy itself measures it. */
  readonly firstSyncMs: number
  /** From the last byte of the objects until the first sync has ended. */
  readonly fromLastByteMs: number
  readonly fromStartMs: number
  /** Until then, of the proxy and of the programs that it ran. */
  readonly startCpuMs: number
  /** From the API server's write to the kernel's commit, of each change. */
  readonly changesMs: readonly number[]
  /** Of the proxy and its programs, for one change. */
  readonly cpuPerChangeMs: number
  /** From the last write to the last commit. */
  readonly burstMs: number
  readonly residentMb: number
  readonly peakMb: number
  readonly size: TableSize
}

export const burst = 100
const warmUps = 3
/** Between changes, so that each is a sync of its own. */
const pauseMs = 10
/** A prime: changes meet Services of all kinds, all over the table. */
const stride = 7919

export async function runNftables({ program, table, services, changes }: NftablesCase): Promise<NftablesRun> {
  using namespace = Namespace.make()
  await using daemon = await ProxyDaemon.start({
    program,
    mode: 'nftables',
    services,
    namespace,
    // Nobody shall wait for the end of a pause.
    flags: ['--iptables-min-sync-period=1ms'],
  })
  const first = await daemon.when(({ full }) => full.count > 0)
  const fromLastByteMs = first.syncedAtMs - daemon.lastByteAtMs
  const atFirst = await daemon.cost()
  const size = tableSize(namespace, table)
  await daemon.settles()

  await using commits = await CommitWatch.start(namespace)
  const changeOnce = async (change: number): Promise<number> => {
    const changedAtMs = await daemon.changeEndpoints(1, (change * stride) % services)
    const latencyMs = (await commits.firstAfter(changedAtMs)) - changedAtMs
    await sleep(pauseMs)
    return latencyMs
  }
  for (let change = 0; change < warmUps; change++) await changeOnce(change)
  const before = await daemon.cost()
  const changesMs: number[] = []
  for (let change = 0; change < changes; change++) changesMs.push(await changeOnce(warmUps + change))
  const after = await daemon.cost()

  const longestMs = Math.max(...changesMs)
  const burstAtMs = await daemon.changeEndpoints(burst)
  const burstMs = (await commits.lastAfter(burstAtMs, 1000 + 2 * longestMs)) - burstAtMs
  const { residentMb, peakMb } = await daemon.cost()
  return {
    firstSyncMs: first.full.ms / first.full.count,
    fromLastByteMs,
    fromStartMs: first.syncedAtMs - daemon.startedAtMs,
    startCpuMs: atFirst.ownCpuMs + atFirst.toolsCpuMs,
    changesMs,
    cpuPerChangeMs: (after.ownCpuMs + after.toolsCpuMs - before.ownCpuMs - before.toolsCpuMs) / changes,
    burstMs,
    residentMb,
    peakMb,
    size,
  }
}
