/** What the contract tests share: the server, a client, and small objects to write. */
import { ApiClient } from './api-client.ts'
import type { JsonObject, SendRequest } from './api-client.ts'

export interface ContractServer extends AsyncDisposable {
  readonly request: SendRequest
  /** Makes a resourceVersion too old for a watch and returns it; without it, those tests are skipped. */
  readonly expireRevision?: () => Promise<string>
  /**
   * Makes the server forget list snapshots up to now; without it, those tests are skipped. A real server needs a
   * compaction of etcd and a restart, because its cache remembers them, too.
   */
  readonly compact?: () => Promise<void>
}

export const mergePatch = 'application/merge-patch+json'
export const strategicMergePatch = 'application/strategic-merge-patch+json'
export const jsonPatch = 'application/json-patch+json'
export const applyPatch = 'application/apply-patch+yaml'
export const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

export class ContractApi implements AsyncDisposable {
  #server: ContractServer | undefined
  #client: ApiClient | undefined
  #namespaces = 0

  async start(start: () => Promise<ContractServer>): Promise<void> {
    this.#server = await start()
    this.#client = new ApiClient(this.#server.request)
  }

  get server(): ContractServer {
    return this.#server ?? notStarted()
  }

  get client(): ApiClient {
    return this.#client ?? notStarted()
  }

  /** Each test has its own namespace, so it may count objects. */
  async freshNamespace(): Promise<string> {
    const name = `contract-${process.pid}-${++this.#namespaces}`
    await this.client.expect(201, 'POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })
    return name
  }

  /** The Services of a fresh namespace. */
  async servicesPath(): Promise<string> {
    return `/api/v1/namespaces/${await this.freshNamespace()}/services`
  }

  async createServices(path: string, ...names: string[]): Promise<JsonObject[]> {
    const created: JsonObject[] = []
    for (const name of names) created.push(await this.client.expect(201, 'POST', path, service(name)))
    return created
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
  }
}

export function service(name: string, labels?: Readonly<Record<string, string>>): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: { ports: [{ port: 80 }] },
  }
}

export function slice(name: string, address: string): JsonObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ name: 'http', port: 80 }],
  }
}

export function namesOf(list: JsonObject): string[] {
  return list.items.map((item: JsonObject) => item.metadata.name)
}

/** `ADDED web` for each event. */
export function eventSummaries(events: readonly { readonly type: string; readonly object: JsonObject }[]): string[] {
  return events.map(({ type, object }) => `${type} ${object.metadata.name}`)
}

function notStarted(): never {
  throw new Error('the server of the contract has not been started')
}
