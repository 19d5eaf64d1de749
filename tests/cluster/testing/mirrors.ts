import type { KindSink } from '../../../src/sources/kind-sink.ts'
import { loadKubeAccess, type KubeAccessOptions } from '../../../src/sources/kube/access/kube-access.ts'
import { KubeClient } from '../../../src/sources/kube/kube-client.ts'
import { Reflector } from '../../../src/sources/kube/reflector/reflector.ts'
import type { ReflectorStatus } from '../../../src/sources/kube/reflector/reflector-journal.ts'
import type { ResourceQuery } from '../../../src/sources/kube/reflector/resource-query.ts'

interface MirroredObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> }
  readonly [field: string]: unknown
}

/** Fairlead's copies of some kinds of objects, kept by its real client and reflectors. */
export class Mirrors<Kind extends string> implements AsyncDisposable {
  readonly #client: KubeClient
  readonly #stop = new AbortController()
  readonly #mirrors: Readonly<Record<Kind, Mirror>>
  readonly #running: Promise<unknown>

  private constructor(client: KubeClient, queries: Readonly<Record<Kind, ResourceQuery>>) {
    this.#client = client
    const mirrors = Object.entries<ResourceQuery>(queries).map(([kind, query]) => [kind, new Mirror(client, query)])
    this.#mirrors = Object.fromEntries(mirrors) as Record<Kind, Mirror>
    this.#running = Promise.all(Object.values<Mirror>(this.#mirrors).map((mirror) => mirror.run(this.#stop.signal)))
  }

  static async start<Kind extends string>(
    access: KubeAccessOptions,
    queries: Readonly<Record<Kind, ResourceQuery>>,
  ): Promise<Mirrors<Kind>> {
    // Tests make many requests at once; kube-proxy's default limit would only make them wait.
    return new Mirrors(
      new KubeClient({ access: await loadKubeAccess(access), version: '0.0.0-test', qps: -1 }),
      queries,
    )
  }

  of(kind: Kind): Mirror {
    return this.#mirrors[kind]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#client[Symbol.asyncDispose]()
  }
}

/** The copy of one kind, and how it came about. */
class Mirror {
  readonly #reflector: Reflector<MirroredObject>
  readonly objectsByName = new Map<string, MirroredObject>()
  /** What was delivered, in order: `replace`, `upsert name`, `remove name`. */
  readonly deliveries: string[] = []

  constructor(client: KubeClient, query: ResourceQuery) {
    const sink: KindSink<MirroredObject> = {
      read: (object) => object as MirroredObject,
      replace: (items) => {
        this.deliveries.push('replace')
        this.objectsByName.clear()
        for (const item of items) this.objectsByName.set(item.metadata.name, item)
      },
      upsert: (item) => {
        this.deliveries.push(`upsert ${item.metadata.name}`)
        this.objectsByName.set(item.metadata.name, item)
      },
      remove: (item) => {
        this.deliveries.push(`remove ${item.metadata.name}`)
        this.objectsByName.delete(item.metadata.name)
      },
    }
    this.#reflector = new Reflector({ client, query, sink })
  }

  get status(): ReflectorStatus {
    return this.#reflector.status()
  }

  get names(): readonly string[] {
    return [...this.objectsByName.keys()].sort()
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal)
  }
}
