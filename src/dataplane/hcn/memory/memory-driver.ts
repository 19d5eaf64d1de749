/** The calls of a client to an HNS in memory, written down, as slow as a test likes, and failing when it says so. */
import { isJsonObject } from '../../../api/json-reader.ts'
import { systemClock } from '../../../core/clock.ts'
import type { Clock } from '../../../core/clock.ts'
import type { HcnDriver, ObjectKind } from '../driver.ts'
import { failureOf, hresult, renderErrorRecord } from '../hresult.ts'
import { isGuid } from '../reply-reader.ts'
import { Faults } from './faults.ts'
import type { Fault } from './faults.ts'
import { endpointProperties, loadBalancerProperties, networkProperties, policyList } from './hns-objects.ts'
import { MemoryHns } from './memory-hns.ts'
import { HnsRefusal } from './refusal.ts'

type Writable = 'Endpoint' | 'LoadBalancer'

export interface DriverCall {
  readonly operation:
    | 'hnsCall'
    | `enumerate${ObjectKind}s`
    | `query${ObjectKind}`
    | `create${Writable}`
    | 'modifyLoadBalancer'
    | `remove${Writable}`
  readonly args: readonly string[]
}

export interface MemoryDriverOptions {
  readonly clock?: Clock
  /** How long HNS takes for each function of the system's library that one of our calls uses. */
  readonly delayMs?: number
}

export class MemoryDriver implements HcnDriver {
  readonly hns: MemoryHns
  /** What was asked, in order, whether it worked or not. */
  readonly journal: DriverCall[] = []
  /** How many calls were under way at once, at most. */
  mostAtOnce = 0
  readonly #faults = new Faults()
  readonly #clock: Clock
  readonly #delayMs: number
  #underWay = 0
  #replies = 0

  constructor(hns = new MemoryHns(), { clock = systemClock, delayMs = 0 }: MemoryDriverOptions = {}) {
    this.hns = hns
    this.#clock = clock
    this.#delayMs = delayMs
  }

  /** Makes a call fail, or wait. Returns what takes it away. */
  fault(fault: Fault): () => void {
    return this.#faults.add(fault)
  }

  /** What was asked since the last time. */
  takeJournal(): readonly DriverCall[] {
    return this.journal.splice(0)
  }

  hnsCall(method: string, path: string, body: string): Promise<string> {
    return this.#call('HNSCall', 1, { operation: 'hnsCall', args: [method, path, body] }, () => {
      const output = method === 'GET' ? this.#oldView(path) : undefined
      if (output === undefined) return renderErrorRecord(hresult.elementNotFound)
      return JSON.stringify({ Success: true, Output: output })
    })
  }

  enumerate(kind: ObjectKind, query: string): Promise<string> {
    return this.#call(`hcnEnumerate${kind}s`, 1, { operation: `enumerate${kind}s`, args: [query] }, () =>
      JSON.stringify(this.#idsOf(kind, query)),
    )
  }

  query(kind: ObjectKind, id: string, query: string): Promise<string> {
    return this.#call(`hcnOpen${kind}`, 3, { operation: `query${kind}`, args: [id, query] }, () => {
      this.#checkId(id)
      return JSON.stringify(this.#properties(kind, id))
    })
  }

  create(kind: Writable, settings: string, networkId = ''): Promise<string> {
    const args = kind === 'Endpoint' ? [settings, networkId] : [settings]
    const functions = kind === 'Endpoint' ? 5 : 3
    return this.#call(`hcnCreate${kind}`, functions, { operation: `create${kind}`, args }, () => {
      const { id } =
        kind === 'Endpoint' ? this.hns.createEndpoint(networkId, settings) : this.hns.createLoadBalancer(settings)
      return JSON.stringify(this.#properties(kind, id))
    })
  }

  modifyLoadBalancer(id: string, settings: string): Promise<string> {
    return this.#call('hcnModifyLoadBalancer', 4, { operation: 'modifyLoadBalancer', args: [id, settings] }, () => {
      this.#checkId(id)
      this.hns.modifyLoadBalancer(id, settings)
      return JSON.stringify(this.#properties('LoadBalancer', id))
    })
  }

  async remove(kind: Writable, id: string): Promise<void> {
    await this.#call(`hcnDelete${kind}`, 1, { operation: `remove${kind}`, args: [id] }, () => {
      this.#checkId(id)
      if (kind === 'Endpoint') this.hns.deleteEndpoint(id)
      else this.hns.deleteLoadBalancer(id)
      return ''
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #call(name: string, functions: number, call: DriverCall, work: () => string): Promise<string> {
    this.journal.push(call)
    this.#underWay++
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#underWay)
    try {
      if (this.#delayMs > 0) await this.#clock.sleep(this.#delayMs * functions, new AbortController().signal)
      const fault = this.#faults.for(call)
      await fault?.until
      return this.#answer(name, call, fault, work)
    } finally {
      this.#underWay--
    }
  }

  #answer(name: string, call: DriverCall, fault: Fault | undefined, work: () => string): string {
    if (!this.hns.answers()) throw failureOf(name, hresult.rpcUnavailable, '')
    if (fault?.hresult !== undefined || fault?.record !== undefined) {
      if (fault.effect === 'all') work()
      if (fault.effect === 'half' && call.operation === 'createLoadBalancer') this.hns.putHalfLoadBalancer()
      const { hresult: code = hresult.ok, record = renderErrorRecord(code) } = fault
      throw failureOf(name, code, record)
    }
    try {
      return this.#inReplyCase(work())
    } catch (error) {
      if (error instanceof HnsRefusal) throw failureOf(name, error.code, renderErrorRecord(error.code))
      throw error
    }
  }

  /** Whoever passes something else has made a mistake. HNS does not hear of it. */
  #checkId(id: string): void {
    if (!isGuid(id)) throw new HnsRefusal(hresult.invalidParameter)
  }

  #idsOf(kind: ObjectKind, query: string): readonly string[] {
    const filter = this.#filterIn(query)
    const wanted = (key: 'ID' | 'Name' | 'VirtualNetwork', value: string) =>
      filter[key] === undefined || filter[key].toLowerCase() === value.toLowerCase()
    const { networks, endpoints, loadBalancers } = this.hns
    switch (kind) {
      case 'Network':
        return networks.filter((it) => wanted('ID', it.id) && wanted('Name', it.name)).map((it) => it.id)
      case 'Endpoint':
        return endpoints
          .filter((it) => wanted('ID', it.id) && wanted('Name', it.name) && wanted('VirtualNetwork', it.networkId))
          .map((it) => it.id)
      case 'LoadBalancer':
        return loadBalancers.filter((it) => wanted('ID', it.id)).map((it) => it.id)
      default:
        return kind satisfies never
    }
  }

  #filterIn(query: string): Partial<Record<'ID' | 'Name' | 'VirtualNetwork', string>> {
    const parsed: unknown = parsedOrRefused(query)
    const text = isJsonObject(parsed) ? parsed['Filter'] : undefined
    if (text === undefined) return {}
    const filter: unknown = typeof text === 'string' ? parsedOrRefused(text) : undefined
    const known = ['ID', 'Name', 'VirtualNetwork']
    if (
      isJsonObject(filter) &&
      Object.entries(filter).every(([key, it]) => known.includes(key) && typeof it === 'string')
    )
      return filter
    if (this.hns.options.unknownFilter === 'is refused') throw new HnsRefusal(hresult.invalidJson)
    return {}
  }

  #properties(kind: ObjectKind, id: string): object {
    switch (kind) {
      case 'Network':
        return networkProperties(this.hns.network(id))
      case 'Endpoint':
        return endpointProperties(this.hns.endpoint(id))
      case 'LoadBalancer':
        return loadBalancerProperties(this.hns.loadBalancer(id))
      default:
        return kind satisfies never
    }
  }

  #oldView(path: string): unknown {
    if (path === '/globals/version') return { Major: this.hns.version.major, Minor: this.hns.version.minor }
    if (path === '/policylists/') return this.hns.loadBalancers.map(policyList)
    return undefined
  }

  #inReplyCase(reply: string): string {
    this.#replies++
    const { idCase = 'lower' } = this.hns.options
    if (idCase === 'lower' || (idCase === 'now this, now that' && this.#replies % 2 === 0)) return reply
    return reply.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => id.toUpperCase())
  }
}

function parsedOrRefused(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new HnsRefusal(hresult.invalidJson)
  }
}
