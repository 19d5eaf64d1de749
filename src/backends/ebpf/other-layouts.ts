/**
 * What a process of another version left, whose tables are laid out differently. They are never written, but one thing in
 * their config: who writes now. What sockets remember goes on, the links get other programs, and the rest is removed.
 */
import { join } from 'node:path'
import type { Logger } from '../../core/logger.ts'
import type { AttachType, Bpf, BpfLink, BpfMap } from '../../dataplane/ebpf/bpf.ts'
import type { SocketMaps } from './found-tables.ts'
import { decodeConfig, layout } from './layout.ts'
import type { MapName } from './layout.ts'

export class OtherLayouts {
  readonly #bpf: Bpf
  #folders: readonly string[]

  private constructor(bpf: Bpf, folders: readonly string[]) {
    this.#bpf = bpf
    this.#folders = folders
  }

  /** All that is pinned there, but for one's own folder in it. */
  static async find(bpf: Bpf, pins: string, own: string): Promise<OtherLayouts> {
    const names = new Set((await bpf.pinned(pins)).map((path) => path.split('/')[0] ?? ''))
    return new OtherLayouts(
      bpf,
      [...names].map((name) => join(pins, name)).filter((folder) => folder !== own),
    )
  }

  get areThere(): boolean {
    return this.#folders.length > 0
  }

  /** Whoever writes there finds out that it is not the one any more. */
  async claim(owner: bigint): Promise<void> {
    for (const folder of this.#folders) {
      using config = await this.#bpf.openMap(join(folder, 'maps', 'config'))
      await config?.store(layout.config.owner, owner)
    }
  }

  /** Where the generations of tables go on, so that what sockets remember names no endpoint of theirs. */
  async nextGeneration({ config: own }: Pick<SocketMaps, 'config'>): Promise<number> {
    let next = decodeConfig(own.bytes).nextGeneration
    for (const folder of this.#folders) {
      using config = await this.#bpf.openMap(join(folder, 'maps', 'config'))
      if (config !== undefined) next = Math.max(next, decodeConfig(config.bytes).nextGeneration)
    }
    return next
  }

  map(name: MapName): Promise<BpfMap | undefined> {
    return this.#first((folder) => this.#bpf.openMap(join(folder, 'maps', name)))
  }

  /** It is given another program, so that there are never two at one hook. */
  link(attachType: AttachType): Promise<BpfLink | undefined> {
    return this.#first((folder) => this.#bpf.openLink(join(folder, 'links', attachType)))
  }

  /** Once nothing leads there any more. */
  async remove(log: Logger): Promise<void> {
    for (const folder of this.#folders) {
      await this.#bpf.unpin(folder)
      log.info('the tables of another version of Fairlead are removed', { folder })
    }
    this.#folders = []
  }

  async #first<T>(open: (folder: string) => Promise<T | undefined>): Promise<T | undefined> {
    for (const folder of this.#folders) {
      const found = await open(folder)
      if (found !== undefined) return found
    }
    return undefined
  }
}
