/** The Services and replicas of the sample application as the API server has them, whoever wrote them. */
import type { Clock } from '../../../core/clock.ts'
import type { KindSink } from '../../../sources/kind-sink.ts'
import type { KubeClient } from '../../../sources/kube/kube-client.ts'
import { Reflector } from '../../../sources/kube/reflector/reflector.ts'
import { namespace, replicaLabel, sampleServices, stoppedAnnotation } from '../sample-application.ts'
import { runAll } from '../../run-all.ts'

export interface StageService {
  readonly name: string
  readonly version: number
  readonly hasAffinity: boolean
  /** How many replicas it shall have: an order that has not been carried out. */
  readonly scale: string | undefined
}

export interface StageReplica {
  readonly name: string
  readonly version: number
  readonly service: string
  readonly ip: string
  readonly port: number
  /** Somebody wants its server to be stopped. */
  readonly isStopped: boolean
  readonly isReady: boolean
  readonly isTerminating: boolean
}

/** A photograph. */
export interface StageScene {
  readonly services: ReadonlyMap<string, StageService>
  /** By Service and number. */
  readonly replicas: ReadonlyMap<string, StageReplica>
}

/** On a Service: how many replicas it shall have. Taken away when that is so. */
export const scaleAnnotation = 'demo.fairlead.dev/scale'
export const servicesPath = `/api/v1/namespaces/${namespace}/services`
export const slicesPath = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`

export class StageObjects {
  readonly #services: Following<StageService>
  readonly #replicas: Following<StageReplica>

  constructor(options: { readonly client: KubeClient; readonly clock: Clock; readonly onChange: () => void }) {
    const shared = { ...options, longestPauseMs: 1_000 }
    this.#services = new Following(
      { ...shared, query: { kind: 'Service', resource: 'services', path: servicesPath } },
      readService,
    )
    this.#replicas = new Following(
      {
        ...shared,
        query: {
          kind: 'EndpointSlice',
          resource: 'endpointslices.discovery.k8s.io',
          path: slicesPath,
          labelSelector: replicaLabel,
        },
      },
      readReplica,
    )
  }

  get isComplete(): boolean {
    return this.#services.isComplete && this.#replicas.isComplete
  }

  scene(): StageScene {
    const replicas = [...this.#replicas.byName].sort(([left], [right]) =>
      left.localeCompare(right, 'en', { numeric: true }),
    )
    return { services: new Map(this.#services.byName), replicas: new Map(replicas) }
  }

  /** What the API server answered to a write: known before the watch tells it. */
  note(object: unknown): void {
    this.#services.note(object)
    this.#replicas.note(object)
  }

  run(signal: AbortSignal): Promise<void> {
    return runAll([this.#services, this.#replicas], signal)
  }
}

interface Named {
  readonly name: string
  readonly version: number
}

class Following<Item extends Named> {
  readonly byName = new Map<string, Item>()
  isComplete = false
  readonly #reflector: Reflector<Item | undefined>
  readonly #read: (object: unknown) => Item | undefined
  readonly #onChange: () => void

  constructor(
    {
      onChange,
      ...options
    }: Omit<ConstructorParameters<typeof Reflector<Item | undefined>>[0], 'sink'> & { readonly onChange: () => void },
    read: (object: unknown) => Item | undefined,
  ) {
    this.#read = read
    this.#onChange = onChange
    const sink: KindSink<Item | undefined> = {
      read,
      replace: (items) => {
        this.byName.clear()
        for (const item of items) if (item !== undefined) this.byName.set(item.name, item)
        this.isComplete = true
        onChange()
      },
      upsert: (item) => this.#take(item),
      remove: (item) => {
        if (item !== undefined && this.byName.delete(item.name)) onChange()
      },
    }
    this.#reflector = new Reflector({ ...options, sink })
  }

  note(object: unknown): void {
    this.#take(this.#read(object))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal)
  }

  #take(item: Item | undefined): void {
    if (item === undefined || (this.byName.get(item.name)?.version ?? 0) >= item.version) return
    this.byName.set(item.name, item)
    this.#onChange()
  }
}

/** As far as the stage looks at it. The API server has checked the rest. */
interface ApiObject {
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: { readonly sessionAffinity?: string }
  readonly ports?: readonly { readonly port?: number }[]
  readonly endpoints?: readonly {
    readonly addresses: readonly string[]
    readonly conditions?: { readonly ready?: boolean; readonly terminating?: boolean }
  }[]
}

function readService(object: unknown): StageService | undefined {
  const { kind, metadata, spec } = object as ApiObject
  const { name, resourceVersion, annotations = {} } = metadata
  if (kind === 'EndpointSlice' || !sampleServices.some((sample) => sample.name === name)) return undefined
  return {
    name,
    version: Number(resourceVersion),
    hasAffinity: spec?.sessionAffinity === 'ClientIP',
    scale: annotations[scaleAnnotation],
  }
}

function readReplica(object: unknown): StageReplica | undefined {
  const { kind, metadata, ports = [], endpoints = [] } = object as ApiObject
  const { name, resourceVersion, labels = {}, annotations = {} } = metadata
  const service = labels['kubernetes.io/service-name'] ?? ''
  const [endpoint] = endpoints
  const port = ports[0]?.port
  if (kind === 'Service' || endpoint === undefined || port === undefined) return undefined
  if (labels[replicaLabel] === undefined || !sampleServices.some((sample) => sample.name === service)) return undefined
  return {
    name,
    version: Number(resourceVersion),
    service,
    ip: endpoint.addresses[0] ?? '',
    port,
    isStopped: annotations[stoppedAnnotation] === 'true',
    isReady: endpoint.conditions?.ready ?? true,
    isTerminating: endpoint.conditions?.terminating ?? false,
  }
}
