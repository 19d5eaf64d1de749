/**
 * Reads endpoints of the network, each once. An endpoint never changes its addresses, so what was read of an id stays true;
 * this is remembered also after a failed sync, when nothing else is, because to read thousands again takes long.
 */
import type { Hcn, HcnEndpoint } from '../../dataplane/hcn/hcn.ts'

export interface Listing {
  readonly ids: readonly string[]
  /** Those that were not known. */
  readonly added: readonly HcnEndpoint[]
}

export class EndpointReader {
  readonly #hcn: Pick<Hcn, 'endpoint' | 'endpointIds'>
  readonly #byId = new Map<string, HcnEndpoint>()

  constructor(hcn: Pick<Hcn, 'endpoint' | 'endpointIds'>) {
    this.#hcn = hcn
  }

  /** One call, and a few for each that was never read. */
  async list(networkId: string, known: { has(id: string): boolean }, signal: AbortSignal): Promise<Listing> {
    const ids = await this.#hcn.endpointIds(networkId, signal)
    const added: HcnEndpoint[] = []
    for (const id of ids) {
      if (known.has(id)) continue
      const endpoint = this.#byId.get(id) ?? (await this.#hcn.endpoint(id, signal))
      // It may be gone by now.
      if (endpoint === undefined) continue
      // One without an address may get one yet.
      if (endpoint.ips.length > 0) this.remember(endpoint)
      added.push(endpoint)
    }
    this.#forgetAllBut(ids)
    return { ids, added }
  }

  remember(endpoint: HcnEndpoint): void {
    this.#byId.set(endpoint.id, endpoint)
  }

  #forgetAllBut(ids: readonly string[]): void {
    if (this.#byId.size <= ids.length) return
    const listed = new Set(ids)
    for (const id of this.#byId.keys()) if (!listed.has(id)) this.#byId.delete(id)
  }
}
