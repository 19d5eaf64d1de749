/** Two engines behind one interface: TCP in the one, UDP in the other. */
import type {
  DialFailure,
  EndpointCounts,
  ListenerSpec,
  ListenResult,
  ListeningSocket,
  Relay,
  RelayStats,
  RelayTotals,
  TrafficCounts,
} from '../relay.ts'

export interface SplitRelayOptions {
  readonly tcp: Required<Relay>
  readonly udp: Relay
  /** TCP may be dialled from the client's own address. */
  readonly isTransparent?: boolean
}

export class SplitRelay implements Relay {
  readonly #tcp: Required<Relay>
  readonly #udp: Relay
  readonly transparentConnections?: () => number

  constructor({ tcp, udp, isTransparent = true }: SplitRelayOptions) {
    this.#tcp = tcp
    this.#udp = udp
    if (isTransparent) this.transparentConnections = () => tcp.transparentConnections()
  }

  async set(spec: ListenerSpec): Promise<ListenResult> {
    const [engine, other] = spec.protocol === 'TCP' ? [this.#tcp, this.#udp] : [this.#udp, this.#tcp]
    await other.remove(spec.id)
    return engine.set(spec)
  }

  async remove(id: string, how?: { readonly isGentle: boolean }): Promise<void> {
    await Promise.all([this.#tcp.remove(id, how), this.#udp.remove(id, how)])
  }

  listening(): readonly ListeningSocket[] {
    return [...this.#tcp.listening(), ...(this.#udp.listening?.() ?? [])]
  }

  counts(id: string): TrafficCounts | undefined {
    return this.#tcp.counts(id) ?? this.#udp.counts(id)
  }

  endpointCounts(pool: string): ReadonlyMap<string, EndpointCounts> {
    const tcp = this.#tcp.endpointCounts(pool)
    return tcp.size > 0 ? tcp : this.#udp.endpointCounts(pool)
  }

  totals(): RelayTotals {
    return addTotals(this.#tcp.totals(), this.#udp.totals())
  }

  stats(): RelayStats {
    const [tcp, udp] = [this.#tcp.stats(), this.#udp.stats()]
    return {
      listeners: [...tcp.listeners, ...udp.listeners],
      pools: tcp.pools + udp.pools,
      bufferedBytes: tcp.bufferedBytes + udp.bufferedBytes,
      draining: tcp.draining + udp.draining,
      descriptors: addDescriptors(tcp.descriptors, udp.descriptors),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#tcp[Symbol.asyncDispose](), this.#udp[Symbol.asyncDispose]()])
  }
}

/** Each protocol is carried by one of the two; what is timed is TCP, but both dial. */
function addTotals(tcp: RelayTotals, udp: RelayTotals): RelayTotals {
  const failures = (why: DialFailure) => tcp.dialFailures[why] + udp.dialFailures[why]
  return {
    ...tcp,
    carried: { TCP: tcp.carried.TCP, UDP: udp.carried.UDP },
    dials: tcp.dials + udp.dials,
    avoided: tcp.avoided + udp.avoided,
    dialFailures: {
      refused: failures('refused'),
      timeout: failures('timeout'),
      unreachable: failures('unreachable'),
      other: failures('other'),
    },
    descriptors: addDescriptors(tcp.descriptors, udp.descriptors),
  }
}

type Descriptors = RelayStats['descriptors']

function addDescriptors(a: Descriptors, b: Descriptors): Descriptors {
  return { used: a.used + b.used, budget: a.budget + b.budget }
}
