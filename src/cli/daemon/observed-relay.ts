/** Opens the relay of the userspace mode, with series of what it does and traces of its connections. */
import { ConnectionTraces } from '../../dataplane/relay/connection-traces.ts'
import type { TracedDuration } from '../../dataplane/relay/connection-traces.ts'
import { connectionBounds, dialBounds } from '../../dataplane/relay/durations.ts'
import { keptRelay } from '../../dataplane/relay/kept-relay.ts'
import type { RelayUse } from '../../dataplane/relay/lend-relay.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import type { Family } from '../../net/ip.ts'
import { familyLabel } from '../../observe/metrics/family-label.ts'
import { addRelayMetrics, RelayExemplars } from '../../observe/metrics/relay-metrics.ts'
import type { RelayNumbers } from '../../observe/metrics/relay-metrics.ts'
import type { ProxyPorts } from '../modes/mode.ts'
import type { ClusterParts, Daemon } from './daemon.ts'

type DaemonParts = Pick<Daemon, 'host' | 'userspace' | 'tracing' | 'log'>
type ObservedBy = Pick<ClusterParts, 'metrics' | 'tracing' | 'succession'>

export class ObservedRelay {
  readonly #daemon: DaemonParts
  readonly #observed: ObservedBy
  readonly #exemplars = new RelayExemplars()
  readonly #portsByFamily = new Map<Family, ProxyPorts>()
  #relay: Relay | undefined
  #hasSeries = false
  /** Of this turn of the event loop: the families of one scrape share one reading. */
  #numbers: RelayNumbers | undefined

  constructor(daemon: DaemonParts, observed: ObservedBy) {
    this.#daemon = daemon
    this.#observed = observed
  }

  async open(use: RelayUse): Promise<Relay> {
    const { host, userspace, tracing, log } = this.#daemon
    const traces = new ConnectionTraces({
      tracer: this.#observed.tracing.recorder,
      onDuration: (duration) => this.#exemplify(duration),
    })
    const relay = await host.openRelay({
      ...userspace,
      ...use,
      reportOneIn: tracing.connectionsPerTrace,
      onConnection: (report) => traces.add(report),
      log,
      clock: host.clock,
    })
    const { sockets } = this.#observed.succession
    this.#relay = keptRelay({ relay, sockets, clock: host.clock })
    this.#addSeries()
    return this.#relay
  }

  noteProxyPorts(family: Family, ports: ProxyPorts): void {
    this.#portsByFamily.set(family, ports)
  }

  #addSeries(): void {
    if (this.#hasSeries) return
    this.#hasSeries = true
    addRelayMetrics(this.#observed.metrics.registry, {
      read: () => this.#read(),
      exemplars: this.#exemplars,
      freePorts: () =>
        [...this.#portsByFamily].flatMap(([family, ports]) =>
          (['TCP', 'UDP'] as const).map((protocol) => ({
            labels: { ...familyLabel(family), protocol },
            value: ports.countFree(protocol),
          })),
        ),
    })
  }

  #read(): RelayNumbers | undefined {
    if (this.#numbers === undefined) setImmediate(() => (this.#numbers = undefined))
    this.#numbers ??= this.#relay?.totals()
    return this.#numbers
  }

  #exemplify({ of, seconds: value, traceId, atMs }: TracedDuration): void {
    const exemplar = { traceId, value, atMs }
    if (of === 'connection') this.#exemplars.connections.add(connectionBounds, exemplar)
    else if (of === 'connected dial') this.#exemplars.dialled.add(dialBounds, exemplar)
    else this.#exemplars.undialled.add(dialBounds, exemplar)
  }
}
