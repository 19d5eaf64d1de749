/** A relay that listens nowhere and carries nothing: it knows where it should, and who would serve there. */
import { isUnspecified } from '../../../net/ip.ts'
import { EngineCounters } from '../engine-counters.ts'
import type {
  EndpointCounts,
  ListenerSpec,
  ListenResult,
  PoolSpec,
  Relay,
  RelayStats,
  RelayTotals,
  SocketAddress,
  TrafficCounts,
} from '../relay.ts'

/** Where the kernel finds a port for those who do not care. */
const firstFreePort = 50_000

export class MemoryRelay implements Relay {
  readonly #listenersById = new Map<string, ListenerSpec>()
  /** Listeners of one pool share what was said last. */
  readonly #poolsById = new Map<string, PoolSpec>()
  /** An address that cannot be listened on. */
  refusedIp: string | undefined

  async set(spec: ListenerSpec): Promise<ListenResult> {
    const { ip } = spec.address
    if (ip === this.refusedIp) return { ok: false, problem: 'not-local', message: `the test refuses ${ip}` }
    const port = spec.address.port === 0 ? this.#freePort(spec) : spec.address.port
    const address = { ip, port }
    if (!this.#isFree(spec, address)) return { ok: false, problem: 'in-use', message: `${ip} port ${port} is taken` }
    this.#listenersById.set(spec.id, { ...spec, address })
    this.#poolsById.set(spec.pool.id, spec.pool)
    return { ok: true, address }
  }

  async remove(id: string): Promise<void> {
    this.#listenersById.delete(id)
  }

  counts(id: string): TrafficCounts | undefined {
    return this.#listenersById.has(id) ? nothing : undefined
  }

  endpointCounts(): ReadonlyMap<string, EndpointCounts> {
    return new Map()
  }

  totals(): RelayTotals {
    const descriptors = { used: this.#listenersById.size, budget: Infinity }
    return { ...new EngineCounters().snapshot(), carried: { TCP: nothing, UDP: nothing }, descriptors }
  }

  stats(): RelayStats {
    const listeners = Array.from(this.#listenersById.values(), ({ id, protocol, address, pool }) => ({
      ...nothing,
      id,
      service: pool.service,
      protocol,
      address,
    }))
    const descriptors = { used: listeners.length, budget: Infinity }
    return { listeners, pools: this.#poolsById.size, bufferedBytes: 0, draining: 0, descriptors }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listenersById.clear()
  }

  /** With the pools as they are now. */
  get listeners(): readonly ListenerSpec[] {
    return Array.from(this.#listenersById.values(), (spec) => ({
      ...spec,
      pool: this.#poolsById.get(spec.pool.id) ?? spec.pool,
    }))
  }

  /** Whoever would get what is sent there. */
  listenerAt(protocol: string, { ip, port }: SocketAddress): ListenerSpec | undefined {
    return this.listeners.find(
      ({ protocol: spoken, address }) =>
        spoken === protocol && address.port === port && (address.ip === ip || isUnspecified(address.ip)),
    )
  }

  #freePort(spec: ListenerSpec): number {
    let port = firstFreePort
    while (!this.#isFree(spec, { ip: spec.address.ip, port })) port++
    return port
  }

  #isFree({ id, protocol }: ListenerSpec, { ip, port }: SocketAddress): boolean {
    const overlaps = (other: string) => other === ip || isUnspecified(other) || isUnspecified(ip)
    return ![...this.#listenersById.values()].some(
      (other) =>
        other.id !== id && other.protocol === protocol && other.address.port === port && overlaps(other.address.ip),
    )
  }
}

const nothing: TrafficCounts = {
  connections: 0,
  active: 0,
  bytesIn: 0,
  bytesOut: 0,
  dialFailures: 0,
  seconds: 0,
  turnedAway: {
    'no-endpoint': 0,
    unreachable: 0,
    'source-not-allowed': 0,
    overload: 0,
    'max-connections': 0,
    'max-dials-per-second': 0,
  },
  limited: { aged: 0, 'aged-reset': 0, waited: 0 },
}
