/**
 * Asks the endpoints of Services that want it (fairlead.dev/health-check) whether this node reaches them. Two failures in a
 * row leave an endpoint out, one success brings it back. Whether others remain, routing knows.
 */
import type { HealthCheck, ObjectKey, Protocol } from '../../api/records.ts'
import { Agenda } from '../agenda.ts'
import type { Clock } from '../clock.ts'
import type { Endpoint, Route } from '../route.ts'

/** What kept the endpoint from answering; undefined: it has answered. */
export type Probe = (target: ProbeTarget, signal: AbortSignal) => Promise<string | undefined>

interface ProbeTarget {
  readonly ip: string
  readonly port: number
  readonly check: HealthCheck
}

export interface HealthChecksOptions {
  readonly clock: Clock
  readonly probe: Probe
  readonly random: () => number
  readonly onChange: (service: ObjectKey) => void
}

const everyMs = 5_000
const failuresToLeave = 2
/** However many endpoints there are, the node has other things to do. */
const mostAtOnce = 100
const crowdedMs = 100
/** A network policy may cut off a thousand endpoints of a Service: it must not be routed a thousand times. */
const changesEveryMs = 1_000

interface Watched extends ProbeTarget {
  readonly service: ObjectKey
  readonly address: string
  failures: number
  problem: string
  /** Monotonic: since when it is left out, if it is. */
  leftOutAtMs: number
}

export interface CheckedEndpoint {
  readonly address: string
  readonly protocol: Protocol
}

export interface UnreachableEndpoint {
  readonly address: string
  readonly problem: string
}

export class HealthChecks {
  readonly #options: HealthChecksOptions
  readonly #watchedByService = new Map<ObjectKey, Map<string, Watched>>()
  readonly #agenda: Agenda<Watched>
  /** Services that have just been told of, and those of them that have changed since. */
  readonly #told: Agenda<ObjectKey>
  readonly #changedServices = new Set<ObjectKey>()
  #asked = 0

  constructor(options: HealthChecksOptions) {
    this.#options = options
    this.#agenda = new Agenda(options.clock)
    this.#told = new Agenda(options.clock)
  }

  /** By this check; what another one has said counts no more. Undefined: all are reached, as far as is known. */
  unreachableOf(service: ObjectKey, check: HealthCheck): ((endpoint: CheckedEndpoint) => boolean) | undefined {
    const watched = this.#watchedByService.get(service)
    const isUnreached = (it: Watched | undefined) => it !== undefined && isLeftOut(it) && isSameCheck(it.check, check)
    if (watched === undefined || ![...watched.values()].some(isUnreached)) return undefined
    return ({ address, protocol }) => protocol === 'TCP' && isUnreached(watched.get(address))
  }

  /** In the order in which they were left out, so that the first ones stay the first. */
  problemsOf(service: ObjectKey): readonly UnreachableEndpoint[] {
    const watched = [...(this.#watchedByService.get(service)?.values() ?? [])]
    return watched.filter(isLeftOut).sort((left, right) => left.leftOutAtMs - right.leftOutAtMs)
  }

  /** The endpoints of the TCP routes that this node may use, and those that it uses only for this reason not. */
  watch(service: ObjectKey, check: HealthCheck, routes: readonly Route[]): void {
    const before = this.#watchedByService.get(service)
    const after = new Map<string, Watched>()
    for (const { protocol, endpoints, reachableEndpoints } of routes) {
      if (protocol !== 'TCP') continue
      const used = new Set(reachableEndpoints)
      for (const endpoint of endpoints) {
        const known = before?.get(endpoint.address)
        const isKnown = known !== undefined && isSameCheck(known.check, check)
        if (used.has(endpoint) || (endpoint.ready && isKnown && isLeftOut(known)))
          after.set(endpoint.address, isKnown ? known : this.#begin(service, check, endpoint))
      }
    }
    for (const [address, watched] of before ?? []) if (after.get(address) !== watched) this.#agenda.delete(watched)
    this.#watchedByService.set(service, after)
  }

  forget(service: ObjectKey): void {
    for (const watched of this.#watchedByService.get(service)?.values() ?? []) this.#agenda.delete(watched)
    this.#watchedByService.delete(service)
    this.#told.delete(service)
    this.#changedServices.delete(service)
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#agenda.run((watched) => void this.#ask(watched, signal), signal),
      this.#told.run((service) => this.#changedServices.delete(service) && this.#tell(service), signal),
    ])
  }

  /** The first question comes at a random time: a Service of many endpoints must not be asked all at once, by all nodes. */
  #begin(service: ObjectKey, check: HealthCheck, { ip, port, address }: Endpoint): Watched {
    const watched = { service, check, ip, port, address, failures: 0, problem: '', leftOutAtMs: 0 }
    this.#agenda.set(watched, this.#options.random() * everyMs)
    return watched
  }

  async #ask(watched: Watched, signal: AbortSignal): Promise<void> {
    if (this.#asked >= mostAtOnce) return this.#agenda.set(watched, crowdedMs)
    this.#asked += 1
    const problem = await this.#options.probe(watched, signal).catch((error: unknown) => String(error))
    this.#asked -= 1
    const { service, address } = watched
    if (signal.aborted || this.#watchedByService.get(service)?.get(address) !== watched) return
    this.#agenda.set(watched, everyMs * (0.9 + 0.2 * this.#options.random()))
    const wasLeftOut = isLeftOut(watched)
    watched.failures = problem === undefined ? 0 : watched.failures + 1
    watched.problem = problem ?? ''
    if (isLeftOut(watched) === wasLeftOut) return
    watched.leftOutAtMs = this.#options.clock.monotonic()
    if (this.#told.has(service)) this.#changedServices.add(service)
    else this.#tell(service)
  }

  /** The first change at once, and those of the next second together. */
  #tell(service: ObjectKey): void {
    this.#told.set(service, changesEveryMs)
    this.#options.onChange(service)
  }
}

function isLeftOut({ failures }: Watched): boolean {
  return failures >= failuresToLeave
}

function isSameCheck(one: HealthCheck, other: HealthCheck): boolean {
  return one.kind === other.kind && (one.kind === 'tcp' || (other.kind === 'http' && one.path === other.path))
}
