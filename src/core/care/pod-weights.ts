/**
 * Weights that pods carry as a label (fairlead.dev/weight). EndpointSlices do not have labels of pods, so those pods are watched,
 * and no others. A pod has a say only in its own namespace: addresses of the host's network are shared.
 */
import type { WeightedPod } from '../../api/parse-pod-weight.ts'
import type { ObjectKey } from '../../api/records.ts'
import { serviceKeyOf } from '../catalog.ts'
import type { Catalog, CatalogEvent } from '../catalog.ts'
import { SharedIndex } from '../routing/shared-index.ts'

export class PodWeights {
  readonly #podsByKey = new Map<ObjectKey, WeightedPod>()
  /** Pods in the network of their node share its address: the first one counts. */
  readonly #podsByAddress = new Map<string, Map<ObjectKey, WeightedPod>>()
  /** Which Services have the address as an endpoint. */
  readonly #servicesByAddress = new SharedIndex()
  readonly #slicesByAddress = new Map<string, number>()
  readonly #listeners = new Set<(service: ObjectKey) => void>()

  constructor(catalog: Catalog) {
    for (const [key, current] of catalog.slices)
      this.#onSlice({ kind: 'EndpointSlice', key, previous: undefined, current })
    catalog.subscribe({ changed: (event) => event.kind === 'EndpointSlice' && this.#onSlice(event) })
  }

  /** Calls with a Service of which a pod has another weight now. */
  subscribe(listener: (service: ObjectKey) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Undefined: no pod of the namespace has a weight there. */
  weightOf(namespace: string, ip: string): number | undefined {
    return this.#weightAt(placeOf(namespace, ip))
  }

  get isEmpty(): boolean {
    return this.#podsByAddress.size === 0
  }

  all(): Iterable<WeightedPod> {
    return this.#podsByKey.values()
  }

  replace(pods: readonly WeightedPod[]): void {
    const keys = new Set(pods.map(({ key }) => key))
    for (const key of this.#podsByKey.keys()) if (!keys.has(key)) this.set(key, undefined)
    for (const pod of pods) this.set(pod.key, pod)
  }

  set(key: ObjectKey, pod: WeightedPod | undefined): void {
    const before = this.#podsByKey.get(key)
    if (pod === undefined) this.#podsByKey.delete(key)
    else this.#podsByKey.set(key, pod)
    const places = [...new Set([...placesOf(before), ...placesOf(pod)])]
    const weights = places.map((place) => this.#weightAt(place))
    for (const place of placesOf(before)) this.#leave(place, key)
    if (pod !== undefined) for (const place of placesOf(pod)) this.#enter(place, pod)
    const changed = places.filter((place, index) => this.#weightAt(place) !== weights[index])
    for (const service of new Set(changed.flatMap((place) => this.#servicesByAddress.all(place))))
      for (const listener of this.#listeners) listener(service)
  }

  #weightAt(place: string): number | undefined {
    return this.#podsByAddress.get(place)?.values().next().value?.weight
  }

  #enter(place: string, pod: WeightedPod): void {
    const pods = this.#podsByAddress.get(place)
    if (pods === undefined) this.#podsByAddress.set(place, new Map([[pod.key, pod]]))
    else pods.set(pod.key, pod)
  }

  #leave(place: string, key: ObjectKey): void {
    const pods = this.#podsByAddress.get(place)
    pods?.delete(key)
    if (pods?.size === 0) this.#podsByAddress.delete(place)
  }

  #onSlice({ previous, current }: Extract<CatalogEvent, { kind: 'EndpointSlice' }>): void {
    // Added before removed: an address that stays is never without its Service.
    for (const [slice, step] of [
      [current, 1],
      [previous, -1],
    ] as const) {
      if (slice === undefined) continue
      const service = serviceKeyOf(slice)
      for (const { ip } of slice.endpoints) {
        const place = placeOf(slice.namespace, ip)
        const slices = (this.#slicesByAddress.get(`${place} ${service}`) ?? 0) + step
        if (slices > 0) this.#slicesByAddress.set(`${place} ${service}`, slices)
        else this.#slicesByAddress.delete(`${place} ${service}`)
        if (slices > 0) this.#servicesByAddress.add(place, service)
        else this.#servicesByAddress.delete(place, service)
      }
    }
  }
}

function placesOf(pod: WeightedPod | undefined): readonly string[] {
  return pod?.ips.map((ip) => placeOf(pod.namespace, ip)) ?? []
}

function placeOf(namespace: string, ip: string): string {
  return `${namespace} ${ip}`
}
