/** Says each notice once: in the log, as an Event, and in a gauge that shows what holds now. */
import type { ObjectKey } from '../../api/records.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { Logger } from '../logger.ts'
import type { ProxyMetrics } from '../proxy-metrics.ts'
import { noticeReasons } from './service-notices.ts'
import type { NoticeReason, NoticeSink, ServiceNotice } from './service-notices.ts'

export interface ToldNoticesOptions {
  readonly log: Logger
  readonly metrics: Pick<ProxyMetrics, 'serviceNotices'>
  /** All that is new about a Service for one reason, as one text. */
  readonly onNotice: (service: ObjectKey, reason: NoticeReason, text: string) => void
}

export class ToldNotices implements NoticeSink {
  readonly #options: ToldNoticesOptions
  readonly #noticesByService = {
    ipv4: new Map<ObjectKey, readonly ServiceNotice[]>(),
    ipv6: new Map<ObjectKey, readonly ServiceNotice[]>(),
  } satisfies Record<Family, unknown>

  readonly #listeners = new Set<(service: ObjectKey) => void>()
  readonly #counts = { ipv4: noCounts(), ipv6: noCounts() } satisfies Record<Family, unknown>

  constructor(options: ToldNoticesOptions) {
    this.#options = options
    for (const family of families) for (const reason of noticeReasons) this.#count(family, reason, 0)
  }

  tell(family: Family, service: ObjectKey, notices: readonly ServiceNotice[]): void {
    const noticesByService = this.#noticesByService[family]
    const before = noticesByService.get(service)
    if (before === undefined && notices.length === 0) return
    if (notices.length === 0) noticesByService.delete(service)
    else noticesByService.set(service, notices)
    const said = new Set(before?.map(({ text }) => text))
    const news = notices.filter(({ text }) => !said.has(text))
    for (const { text, owner } of news)
      this.#options.log.warn('Service needs attention', { service, reason: text, ...(owner && { owner }) })
    for (const reason of noticeReasons) {
      const texts = news.filter((notice) => notice.reason === reason).map(({ text }) => text)
      if (texts.length > 0) this.#options.onNotice(service, reason, texts.join('; '))
    }
    for (const { reason } of before ?? []) this.#count(family, reason, -1)
    for (const { reason } of notices) this.#count(family, reason, 1)
    for (const listener of this.#listeners) listener(service)
  }

  /** Calls with a Service about which there may be something else to say. Returns the function that ends it. */
  subscribe(listener: (service: ObjectKey) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Services about which something is to be said, in the order in which it came up. */
  *services(): IterableIterator<ObjectKey> {
    const { ipv4, ipv6 } = this.#noticesByService
    yield* ipv4.keys()
    for (const service of ipv6.keys()) if (!ipv4.has(service)) yield service
  }

  /** What holds now. */
  about(service: ObjectKey): readonly (ServiceNotice & { readonly family: Family })[] {
    return families.flatMap((family) =>
      (this.#noticesByService[family].get(service) ?? []).map((notice) => ({ family, ...notice })),
    )
  }

  #count(family: Family, reason: NoticeReason, step: number): void {
    this.#counts[family][reason] += step
    this.#options.metrics.serviceNotices(family, reason, this.#counts[family][reason])
  }
}

function noCounts(): Record<NoticeReason, number> {
  return Object.fromEntries(noticeReasons.map((reason) => [reason, 0])) as Record<NoticeReason, number>
}
