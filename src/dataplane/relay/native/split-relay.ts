/** Two engines behind one interface: TCP in the one, UDP in the other. */
import type { ListenerSpec, ListenResult, Relay, RelayStats, TrafficCounts } from '../relay.ts'

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

  async remove(id: string): Promise<void> {
    await Promise.all([this.#tcp.remove(id), this.#udp.remove(id)])
  }

  counts(id: string): TrafficCounts | undefined {
    return this.#tcp.counts(id) ?? this.#udp.counts(id)
  }

  stats(): RelayStats {
    const [tcp, udp] = [this.#tcp.stats(), this.#udp.stats()]
    return {
      listeners: [...tcp.listeners, ...udp.listeners],
      pools: tcp.pools + udp.pools,
      bufferedBytes: tcp.bufferedBytes + udp.bufferedBytes,
      draining: tcp.draining + udp.draining,
      descriptors: {
        used: tcp.descriptors.used + udp.descriptors.used,
        budget: tcp.descriptors.budget + udp.descriptors.budget,
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#tcp[Symbol.asyncDispose](), this.#udp[Symbol.asyncDispose]()])
  }
}
