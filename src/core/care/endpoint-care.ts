/**
 * What time and this node's own experience say about single endpoints: a new one gets its share step by step, and one that
 * this node cannot reach gets nothing while others are there. Only Services that ask for it cost anything.
 */
import type { ObjectKey, ServiceRecord, SliceRecord } from '../../api/records.ts'
import type { Clock } from '../clock.ts'
import type { Route } from '../route.ts'
import { firstOfMany } from '../routing/guard-notices.ts'
import type { ServiceNotice } from '../routing/service-notices.ts'
import { HealthChecks } from './health-checks.ts'
import type { CheckedEndpoint, Probe } from './health-checks.ts'
import type { PodWeights } from './pod-weights.ts'
import { SlowStarts } from './slow-starts.ts'

/** What this node knows of the endpoints of one Service, besides the rules of the Service. */
export interface EndpointFindings {
  /** Another weight than the rules say. */
  readonly weigh?: ((weight: number, ip: string) => number) | undefined
  readonly isUnreachable?: ((endpoint: CheckedEndpoint) => boolean) | undefined
}

export interface EndpointCareOptions {
  readonly clock: Clock
  readonly probe: Probe
  /** From 0 to 1: so that nodes do not probe in step. */
  readonly random: () => number
  /** Undefined: labels of pods are not looked at. */
  readonly pods?: PodWeights | undefined
}

export class EndpointCare {
  readonly #slowStarts: SlowStarts
  readonly #healthChecks: HealthChecks
  readonly #pods: PodWeights | undefined
  readonly #listeners = new Set<(service: ObjectKey, cause: string) => void>()

  constructor({ clock, probe, random, pods }: EndpointCareOptions) {
    this.#pods = pods
    const changed = (service: ObjectKey, cause: string) => {
      for (const listener of this.#listeners) listener(service, cause)
    }
    pods?.subscribe((service) => changed(service, 'weights of pods'))
    this.#slowStarts = new SlowStarts({ clock, onStep: (service) => changed(service, 'slow start') })
    this.#healthChecks = new HealthChecks({
      clock,
      probe,
      random,
      onChange: (service) => changed(service, 'health check'),
    })
  }

  /** Calls with a Service that has to be routed again, and why. Returns the function that ends it. */
  subscribe(listener: (service: ObjectKey, cause: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** For one routing of the Service. Undefined: there is nothing to add to its rules. */
  findingsOf(
    service: ObjectKey,
    record: Pick<ServiceRecord, 'traffic' | 'namespace'>,
    slices: readonly SliceRecord[],
  ): EndpointFindings | undefined {
    const { traffic, namespace } = record
    if (traffic?.slowStartMs === undefined) this.#slowStarts.forget(service)
    const ramp =
      traffic?.slowStartMs === undefined ? undefined : this.#slowStarts.of(service, traffic.slowStartMs, slices)
    const check = traffic?.healthCheck
    const isUnreachable = check === undefined ? undefined : this.#healthChecks.unreachableOf(service, check)
    const pods = this.#pods?.isEmpty === false ? this.#pods : undefined
    if (ramp === undefined && isUnreachable === undefined && pods === undefined) return undefined
    const weigh = (rule: number, ip: string) => {
      const weight = pods?.weightOf(namespace, ip) ?? rule
      return ramp?.(weight, ip) ?? weight
    }
    return { weigh, isUnreachable }
  }

  /** What became of it: endpoints that this node uses are looked at from now on, and no others. */
  routed(service: ObjectKey, record: Pick<ServiceRecord, 'traffic'> | undefined, routes: readonly Route[]): void {
    const check = record?.traffic?.healthCheck
    if (check === undefined) this.#healthChecks.forget(service)
    else this.#healthChecks.watch(service, check, routes)
    if (record === undefined) this.#slowStarts.forget(service)
  }

  noticesOf(service: ObjectKey): readonly ServiceNotice[] {
    const notices = this.#healthChecks.problemsOf(service).map(({ address, problem }) => ({
      reason: 'UnreachableEndpoint' as const,
      text: `endpoint ${address} is left out while others are there: this node cannot reach it (${problem})`,
    }))
    // Without a number: it would be news whenever one more fails.
    return firstOfMany(notices, () => 'more endpoints are left out for such a reason; fairlead explain names them')
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#slowStarts.run(signal), this.#healthChecks.run(signal)])
  }
}
