/**
 * How full the tables are, and larger ones where they are too full. Whatever there is no memory for is left to the packets.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import type { Arena } from './arena.ts'
import { capacitiesOf, isTooFull, sizesFor } from './sizes.ts'
import type { MapSpecs, Needs } from './sizes.ts'
import type { SocketTables } from './tables.ts'

export interface Usage {
  readonly entries: Needs
  readonly capacities: Needs
}

/** What rests can be used again, sooner or later. */
export function usageOf(arena: Arena, specs: MapSpecs): Usage {
  const entries = {
    frontends: specs.frontends.maxEntries - arena.freeFrontends,
    services: arena.indexes.used,
    slots: arena.slots.used,
    endpoints: arena.ids.used,
  }
  return { entries, capacities: capacitiesOf(specs) }
}

/** What rests can be used at once when every program has ended that may still read it. */
export async function wakeAll(arena: Arena, bpf: Bpf): Promise<void> {
  await bpf.fence()
  arena.wakeAll()
}

export interface TableRoomOptions {
  /** Programs that use the maps of before are of no use afterwards. */
  readonly beforeGrowing: () => void
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

/** Each attempt plans everything anew and loads the programs again: too much for each sync on a node that is short of memory. */
const triesAgainAfterMs = 300_000

export class TableRoom {
  readonly #options: TableRoomOptions
  #failedAtMs: number | undefined

  constructor(options: TableRoomOptions) {
    this.#options = options
  }

  /** False: the kernel had no memory for larger maps a moment ago. */
  get canGrow(): boolean {
    const { clock } = this.#options
    return this.#failedAtMs === undefined || clock.monotonic() - this.#failedAtMs >= triesAgainAfterMs
  }

  /** And larger ones can be made. */
  isTooFull(arena: Arena, { specs }: Pick<SocketTables, 'specs'>): boolean {
    const { entries, capacities } = usageOf(arena, specs)
    return this.canGrow && isTooFull(entries, capacities)
  }

  /** So that so many fit easily. */
  async grow(tables: SocketTables, needs: Needs, bpf: Bpf): Promise<void> {
    const sizes = sizesFor(needs, tables.specs)
    if (sizes.size === 0 || !this.canGrow) return
    const { beforeGrowing, clock, log } = this.#options
    beforeGrowing()
    try {
      await tables.grow(bpf, sizes)
      this.#failedAtMs = undefined
      log.info('the tables of the sockets have more room now', Object.fromEntries(sizes))
    } catch (error) {
      if (!(error instanceof BpfError) || error.reason !== 'no-memory') throw error
      const isNews = this.#failedAtMs === undefined
      this.#failedAtMs = clock.monotonic()
      if (isNews) log.warn('there is no memory for larger tables: some Services are left to the packets', { error })
    }
  }
}
