/**
 * Tells which chains of one family may have changed since somebody last asked, so that only those need to be read. The
 * nf_tables of the kernel tells of each change by name, legacy tables are compared with what they were; where neither can
 * be had, the news is that anything may have changed.
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

/** `any`: every chain may have changed. */
export type News = 'any' | ReadonlySet<ChainPath>

export interface TableNews extends AsyncDisposable {
  /** Asking costs microseconds, whatever the size of the tables. */
  readonly isCheap: boolean
  /** It names chains, and misses hardly anything; else compare the whole tables now and then, too. */
  readonly isExact: boolean
  take(signal: AbortSignal): Promise<News>
  /** After a small write of our own: what that did to these chains is no news. */
  takeAfterOwn(touched: ReadonlySet<ChainPath>, signal: AbortSignal): Promise<News>
  /** Does work of our own that changes so much that nobody should listen meanwhile. Then all may have changed. */
  deaf<T>(work: () => Promise<T>): Promise<T>
}

export interface TableNewsOptions extends ChangeDetectorOptions {
  readonly clock: Clock
}

/** The best that works on this host. */
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

/** Machines whose layout of a legacy table we know. */
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
      // Who wrote in the same moment is found out by the next comparison that is due anyway.
      known = await detector.token(signal)
      return nothing
    },
    deaf: (work) => work(),
    [Symbol.asyncDispose]: () => detector[Symbol.asyncDispose](),
  }
}
