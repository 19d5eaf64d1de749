/** An API server of the test that can go away and come back with what it held, at the same address. */
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { startApiServer } from '../../../src/embedded/api-server.ts'
import type { ApiServer } from '../../../src/embedded/api-server.ts'
import { writeKubeconfig } from '../../../src/embedded/kubeconfig-file.ts'
import { allResources } from '../../../src/embedded/resources/all-resources.ts'
import { ApiClient, fetchRequests } from '../../../src/embedded/testing/api-client.ts'
import type { JsonObject } from '../../../src/embedded/testing/api-client.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import type { KubernetesObject } from './objects.ts'

export class Cluster implements AsyncDisposable {
  readonly kubeconfig: string
  readonly #folder: TemporaryFolder
  readonly #port: number
  #server: ApiServer | undefined

  private constructor(folder: TemporaryFolder, server: ApiServer) {
    this.#folder = folder
    this.#server = server
    this.#port = Number(new URL(server.url).port)
    this.kubeconfig = `${folder.path}/kubeconfig`
  }

  static async start(...objects: readonly KubernetesObject[]): Promise<Cluster> {
    const folder = await TemporaryFolder.make()
    const cluster = new Cluster(folder, await serve(folder, 0))
    try {
      await writeKubeconfig(cluster.kubeconfig, cluster.#url)
      for (const object of objects) await cluster.create(object)
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
    return cluster
  }

  /** As when the control plane is down: connections end, new ones are refused. */
  async goAway(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
    this.#server = undefined
  }

  async comeBack(): Promise<void> {
    this.#server = await serve(this.#folder, this.#port)
  }

  /** Changes objects while clients cannot reach the server: for that time it is at another address. */
  async changeUnseen(change: () => Promise<unknown>): Promise<void> {
    this.#server = await serve(this.#folder, 0)
    await change()
    await this.goAway()
  }

  create(object: KubernetesObject): Promise<JsonObject> {
    return this.#client.expect(201, 'POST', collection(object), object)
  }

  async merge(object: KubernetesObject, patch: JsonObject): Promise<void> {
    const { status, text } = await this.#client.patch(path(object), 'application/merge-patch+json', patch)
    if (status !== 200) throw new Error(`the patch of ${path(object)} is refused: ${text}`)
  }

  delete(object: KubernetesObject): Promise<JsonObject> {
    return this.#client.expect(200, 'DELETE', path(object))
  }

  async events(): Promise<readonly JsonObject[]> {
    const { items } = await this.#client.expect(200, 'GET', '/apis/events.k8s.io/v1/events')
    return items as readonly JsonObject[]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goAway()
    await this.#folder[Symbol.asyncDispose]()
  }

  get #url(): string {
    if (this.#server === undefined) throw new Error('the API server of the test is away')
    return this.#server.url
  }

  get #client(): ApiClient {
    return new ApiClient(fetchRequests(this.#url))
  }
}

function serve(folder: TemporaryFolder, port: number): Promise<ApiServer> {
  const dataDir = `${folder.path}/data`
  return startApiServer({ resources: allResources, clock: systemClock, log: silentLogger, port, dataDir })
}

function path(object: KubernetesObject): string {
  return `${collection(object)}/${object.metadata.name}`
}

function collection({ apiVersion, kind, metadata: { namespace } }: KubernetesObject): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`
  return `${group}${scope}/${kind.toLowerCase()}s`
}
