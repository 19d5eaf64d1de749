/**
 * Finds out which chains of one family may have changed since the last call, so that only those need to be read. With
 * nf_tables, the kernel sends an event for each change. Legacy tables are compared with their former content. Where
 * neither works, any chain may have changed.
 */
import { arch, endianness } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import { loadLibc } from '../libc/load-libc.ts'
import { NfTablesEvents } from '../nf-tables/nf-tables-events.ts'
import type { ChangeDetector, ChangeDetectorOptions } from './change-detector.ts'
import { openChangeDetector } from './change-detector.ts'
import type { ChainPath } from './iptables.ts'
import { LegacyChainChanges } from './legacy-chain-changes.ts'
import { NfTablesChainChanges } from './nf-tables-chain-changes.ts'

/** `any`: it is not known which chains changed. */
export type ChangedChains = 'any' | ReadonlySet<ChainPath>

export interface ChainChanges extends AsyncDisposable {
  /** Whether `take` costs microseconds, whatever the size of the tables. */
  readonly isCheap: boolean
  /** Whether it names the chains and misses hardly any change. If not, compare the whole tables now and then, too. */
  readonly isExact: boolean
  take(signal: AbortSignal): Promise<ChangedChains>
  /** To be called after a small write of our own, which changed these chains: they are left out. */
  takeAfterOwnWrite(touched: ReadonlySet<ChainPath>, signal: AbortSignal): Promise<ChangedChains>
  /** Does not listen during a large write of our own, which would be slow. After it, any chain may have changed. */
  withoutListening<T>(work: () => Promise<T>): Promise<T>
}

export interface ChainChangesOptions extends ChangeDetectorOptions {
  readonly clock: Clock
}

/** Opens the best one that works on this host. */
export async function openChainChanges(options: ChainChangesOptions, signal: AbortSignal): Promise<ChainChanges> {
  const { iptables, tables, clock, log, openDatagrams } = options
  const { variant } = await iptables.features(signal)
  if (variant === 'nf_tables')
    try {
      return new NfTablesChainChanges(await NfTablesEvents.open(openDatagrams), iptables.family, tables)
    } catch (error) {
      log.warn('cannot listen for changes of rules; asking the kernel regularly instead', { error })
    }
  else if (isReadable)
    try {
      const libc = await (options.loadLibc ?? loadLibc)()
      const changes = new LegacyChainChanges(libc, iptables.family, tables, clock)
      await changes.take()
      return changes
    } catch (error) {
      log.warn('cannot read the tables of the kernel directly; asking for their sizes instead', { error })
    }
  return chainChangesFromTokens(await openChangeDetector(options, signal))
}

/** Whether we know how this machine lays out a legacy table. */
const isReadable = endianness() === 'LE' && arch().endsWith('64')

export function chainChangesFromTokens(detector: ChangeDetector): ChainChanges {
  const nothing: ChangedChains = new Set()
  let known: string | undefined
  return {
    isCheap: detector.isCheap,
    isExact: false,
    async take(signal) {
      const token = await detector.token(signal)
      const isSame = token === known
      known = token
      return isSame ? nothing : 'any'
    },
    async takeAfterOwnWrite(_touched, signal) {
      // This hides a change by another program at the same moment. The next comparison of the whole tables finds it.
      known = await detector.token(signal)
      return nothing
    },
    withoutListening: (work) => work(),
    [Symbol.asyncDispose]: () => detector[Symbol.asyncDispose](),
  }
}
