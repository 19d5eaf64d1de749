/** What the kernel holds of ours, as far as we know: the basis for writing only what changed. */
import type { Endpoint } from '../../core/route.ts'
import type { VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import { setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { ServerId } from './planned-server.ts'
import type { PlacedChain } from './rules-input.ts'

export interface WrittenServer extends VirtualServer {
  /** Those that get new connections; the others are on the list of `Draining`. */
  readonly endpoints: readonly WrittenEndpoint[]
}

export interface WrittenEndpoint extends Pick<Endpoint, 'ip' | 'port' | 'address'> {
  /** As found in the kernel, when it is to be repaired; otherwise a weight that somebody set by hand is theirs. */
  readonly weight?: number
}

export class Written {
  readonly serversById = new Map<ServerId, WrittenServer>()
  /** On our link. */
  readonly addresses = new Set<string>()
  readonly outRules = new Set<string>()
  chains: readonly PlacedChain[] = []
  readonly #entries = new Map<SetId, Set<string>>(setIds.map((id) => [id, new Set<string>()]))

  entries(set: SetId): Set<string> {
    const entries = this.#entries.get(set)
    if (entries === undefined) throw new TypeError(`"${set}" is not one of the sets of this mode`)
    return entries
  }
}
