/** The objects of a cluster in an embedded API server that the node reaches at its own loopback address. */
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { startApiServer } from '../../../src/embedded/api-server.ts'
import type { ApiServer } from '../../../src/embedded/api-server.ts'
import { allResources } from '../../../src/embedded/resources/all-resources.ts'
import { ApiClient, fetchRequests } from '../../../src/embedded/testing/api-client.ts'
import { families } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import type { Namespace } from './namespace.ts'
import type { KubernetesObject } from './service-fixture.ts'

export class ApiObjects implements AsyncDisposable {
  /** On the node. */
  readonly url: string
  readonly #server: ApiServer
  readonly #client: ApiClient
  readonly #relay: Disposable
  readonly #textByPath = new Map<string, string>()

  private constructor(server: ApiServer, node: Namespace) {
    this.#server = server
    this.#client = new ApiClient(fetchRequests(server.url))
    const relay = relayInto(node, Number(new URL(server.url).port))
    this.#relay = relay
    this.url = `http://127.0.0.1:${relay.port}`
  }

  static async start(node: Namespace): Promise<ApiObjects> {
    const serviceCidrs = families.map((family) => plans[family].serviceRange)
    const server = await startApiServer({
      resources: allResources,
      clock: systemClock,
      log: silentLogger,
      serviceCidrs,
    })
    return new ApiObjects(server, node)
  }

  /** Deletions, then the rest in the order given: who has seen the last one has seen all. */
  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    const wanted = new Set(objects.map(pathOf))
    for (const path of [...this.#textByPath.keys()].filter((known) => !wanted.has(known))) {
      await this.#client.expect(200, 'DELETE', path)
      this.#textByPath.delete(path)
    }
    for (const object of objects) await this.#put(object)
  }

  async #put(object: KubernetesObject): Promise<void> {
    const [path, text] = [pathOf(object), JSON.stringify(object)]
    const known = this.#textByPath.get(path)
    if (known === text) return
    if (known === undefined) await this.#client.expect(201, 'POST', path.slice(0, path.lastIndexOf('/')), object)
    else await this.#patch(path, object)
    const { status } = object
    if (status !== undefined) await this.#patch(`${path}/status`, { status })
    this.#textByPath.set(path, text)
  }

  async #patch(path: string, patch: object): Promise<void> {
    const answer = await this.#client.patch(path, 'application/merge-patch+json', patch)
    if (answer.status !== 200) throw new Error(`the API server of the test refuses ${path}: ${answer.text}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#relay[Symbol.dispose]()
    await this.#server[Symbol.asyncDispose]()
  }
}

function pathOf({ apiVersion, kind, metadata: { name, namespace } }: KubernetesObject): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`
  return `${group}${scope}/${kind.toLowerCase()}s/${name}`
}

/** A listener in the namespace whose connections end at a port of the host. */
function relayInto(namespace: Namespace, hostPort: number): Disposable & { readonly port: number } {
  const server = createServer((inner) => {
    const outer = connect(hostPort, '127.0.0.1')
    inner.pipe(outer).pipe(inner)
    inner.on('error', () => outer.destroy()).on('close', () => outer.destroy())
    outer.on('error', () => inner.destroy()).on('close', () => inner.destroy())
  })
  namespace.enter(() => server.listen(0))
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => server.close() }
}
