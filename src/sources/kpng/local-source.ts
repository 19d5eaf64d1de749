/** A KPNG server as a source: what it says about this node goes into the Catalog, as if an API server had said it. */
import type { Parsed, ServiceCidrRecord, ServiceRecord, SliceRecord } from '../../api/records.ts'
import type { Logger } from '../../core/logger.ts'
import { isSameData } from '../../core/same-data.ts'
import type { SpanContext } from '../../core/trace.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { LocalState } from '../../kpng/client/local-state.ts'
import type { ServiceWithEndpoints } from '../../kpng/client/local-state.ts'
import type { WatchClient, WatchStatus } from '../../kpng/client/watch-client.ts'
import type { Cidr } from '../../net/ip.ts'
import type { RecordIntake, RecordSink } from '../kind-sink.ts'
import { serviceRecord } from './service-record.ts'
import { sliceRecords } from './slice-records.ts'

export interface LocalSourceOptions {
  readonly client: WatchClient
  readonly nodeName: string
  /** The ranges of cluster IPs, as far as they are known. */
  readonly serviceCidrs: readonly Cidr[]
  readonly intake: RecordIntake
  readonly log: Logger
}

interface ServiceItems {
  readonly service: Parsed<ServiceRecord>
  readonly slicesByName: ReadonlyMap<string, Parsed<SliceRecord>>
}

export class KpngLocalSource {
  readonly #options: LocalSourceOptions
  readonly #services: RecordSink<'Service'>
  readonly #slices: RecordSink<'EndpointSlice'>
  readonly #state: LocalState
  readonly #itemsByPath = new Map<string, ServiceItems>()
  #hasDelivered = false

  constructor(options: LocalSourceOptions) {
    this.#options = options
    this.#state = new LocalState(options.log)
    this.#services = options.intake.sink('Service')
    this.#slices = options.intake.sink('EndpointSlice')
  }

  status(): WatchStatus {
    return this.#options.client.status()
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, nodeName, serviceCidrs, intake } = this.#options
    // A KPNG server knows no addresses of nodes and no ServiceCIDRs; both lists are complete as they are.
    intake.sink('Node').replace([])
    intake.sink('ServiceCIDR').replace(serviceCidrs.length === 0 ? [] : [serviceCidrRecord(serviceCidrs)])
    const watch = { api: 'local', node: nodeName, wantsUnscoped: true, wantsCauses: true } as const
    await client.follow(watch, (changes) => this.#apply(changes), signal)
  }

  #apply(changes: ChangeSet): void {
    const different = this.#state.apply(changes)
    if (!this.#hasDelivered) return this.#deliverAll()
    const causes = new Map(changes.causes?.map(({ service, context }) => [service, context]))
    for (const { path, after } of different) this.#deliver(path, after && this.#read(after), causes.get(path))
  }

  /** As complete lists: only then may anything that is missing be removed. */
  #deliverAll(): void {
    this.#hasDelivered = true
    for (const [path, service] of this.#state.services()) this.#itemsByPath.set(path, this.#read(service))
    const all = [...this.#itemsByPath.values()]
    this.#slices.replace(all.flatMap(({ slicesByName }) => [...slicesByName.values()]))
    this.#services.replace(all.map(({ service }) => service))
  }

  /** Only what is different: each part of a Service is an event of its own. */
  #deliver(path: string, after: ServiceItems | undefined, cause: SpanContext | undefined): void {
    const before = this.#itemsByPath.get(path)
    for (const [name, slice] of before?.slicesByName ?? [])
      if (after?.slicesByName.has(name) !== true) this.#slices.remove(slice, cause)
    for (const [name, slice] of after?.slicesByName ?? [])
      if (!isSameData(before?.slicesByName.get(name), slice)) this.#slices.upsert(slice, cause)
    if (after !== undefined) {
      this.#itemsByPath.set(path, after)
      if (!isSameData(before?.service, after.service)) this.#services.upsert(after.service, cause)
    } else if (before !== undefined) {
      this.#itemsByPath.delete(path)
      this.#services.remove(before.service, cause)
    }
  }

  #read(found: ServiceWithEndpoints): ServiceItems {
    const service = serviceRecord(found.service)
    this.#services.report(service)
    const slicesByName = sliceRecords(found, this.#options.nodeName)
    for (const slice of slicesByName.values()) this.#slices.report(slice)
    return { service, slicesByName }
  }
}

function serviceCidrRecord(cidrs: readonly Cidr[]): Parsed<ServiceCidrRecord> {
  return { ok: true, record: { kind: 'ServiceCIDR', name: 'kubernetes', cidrs }, problems: [] }
}
