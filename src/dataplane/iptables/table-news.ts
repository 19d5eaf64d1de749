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
import { LegacyNews } from './legacy-news.ts'
import { NfTablesNews } from './nf-tables-news.ts'

/** `any`: it is not known which chains changed. */
export type News = 'any' | ReadonlySet<ChainPath>

export interface TableNews extends AsyncDisposable {
  /** Whether `take` costs microseconds, whatever the size of the tables. */
  readonly isCheap: boolean
  /** Whether it names the chains and misses hardly any change. If not, compare the whole tables now and then, too. */
  readonly isExact: boolean
  take(signal: AbortSignal): Promise<News>
  /** To be called after a small write of our own, which changed these chains: they are left out. */
  takeAfterOwn(touched: ReadonlySet<ChainPath>, signal: AbortSignal): Promise<News>
  /** Does not listen during a large write of our own, which would be slow. After it, any chain may have changed. */
  deaf<T>(work: () => Promise<T>): Promise<T>
}

export interface TableNewsOptions extends ChangeDetectorOptions {
  readonly clock: Clock
}

/** Opens the best one that works on this host. */
export async function openTableNews(options: TableNewsOptions, signal: AbortSignal): Promise<TableNews> {
  const { iptables, tables, clock, log, openDatagrams } = options
  const { variant } = await iptables.features(signal)
  if (variant === 'nf_tables')
    try {
      return new NfTablesNews(await NfTablesEvents.open(openDatagrams), iptables.family, tables)
    } catch (error) {
      log.warn('cannot listen for changes of rules; asking the kernel regularly instead', { error })
    }
  else if (isReadable)
    try {
      const libc = await (options.loadLibc ?? loadLibc)()
      const news = new LegacyNews(libc, iptables.family, tables, clock)
      await news.take()
      return news
    } catch (error) {
      log.warn('cannot read the tables of the kernel directly; asking for their sizes instead', { error })
    }
  return newsFromTokens(await openChangeDetector(options, signal))
}

/** Whether we know how this machine lays out a legacy table. */
const isReadable = endianness() === 'LE' && arch().endsWith('64')

export function newsFromTokens(detector: ChangeDetector): TableNews {
  const nothing: News = new Set()
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
    async takeAfterOwn(_touched, signal) {
      // This hides a change by another program at the same moment. The next comparison of the whole tables finds it.
      known = await detector.token(signal)
      return nothing
    },
    deaf: (work) => work(),
    [Symbol.asyncDispose]: () => detector[Symbol.asyncDispose](),
  }
}
