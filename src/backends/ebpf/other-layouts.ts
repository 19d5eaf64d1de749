/**
 * What a process of another version left, whose tables are laid out differently. They are never written, but one thing in
 * their config: who writes now. What sockets remember goes on, the links get other programs, and the rest is removed.
 */
import { join } from 'node:path'
import type { Logger } from '../../core/logger.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { BpfReason } from '../../dataplane/ebpf/bpf-error.ts'
import type { AttachType, Bpf, BpfLink, BpfMap } from '../../dataplane/ebpf/bpf.ts'
import type { SocketMaps } from './found-tables.ts'
import { layoutFolders, pinsOfLayouts } from './layout-folders.ts'
import { decodeConfig, isConfigMap, layout } from './layout.ts'
import type { MapName } from './layout.ts'
import { pinOf } from './tables.ts'

/**
 * What is there may be of any version, of another user, or something else altogether. One does without it, because the new
 * tables serve all the same: at worst sockets forget their Service, and a process of that version is not told that it is over.
 */
export const oneDoesWithout: ReadonlySet<BpfReason> = new Set(['refused', 'unsupported', 'not-permitted'])

export class OtherLayouts {
  readonly #bpf: Bpf
  readonly #log: Logger
  #folders: readonly string[]
  /** Of what cannot be used. */
  readonly #toldPaths = new Set<string>()

  private constructor(bpf: Bpf, folders: readonly string[], log: Logger) {
    this.#bpf = bpf
    this.#folders = folders
    this.#log = log
  }

  /** All layouts that are pinned there, but for one's own. */
  static async find(bpf: Bpf, pins: string, own: string, log: Logger): Promise<OtherLayouts> {
    const names = layoutFolders(await pinsOfLayouts(bpf, pins))
    const folders = names.map((name) => join(pins, name)).filter((folder) => folder !== own)
    return new OtherLayouts(bpf, folders, log)
  }

  get areThere(): boolean {
    return this.#folders.length > 0
  }

  /** Whoever writes there finds out that it is not the one any more. */
  async claim(owner: bigint): Promise<void> {
    for (const folder of this.#folders) {
      using config = await this.#config(folder)
      await config?.store(layout.config.owner, owner)
    }
  }

  /** Where the generations of tables go on, so that what sockets remember names no endpoint of theirs. */
  async nextGeneration({ config: own }: Pick<SocketMaps, 'config'>): Promise<number> {
    let next = decodeConfig(own.bytes).nextGeneration
    for (const folder of this.#folders) {
      using config = await this.#config(folder)
      if (config !== undefined) next = Math.max(next, decodeConfig(config.bytes).nextGeneration)
    }
    return next
  }

  map(name: MapName): Promise<BpfMap | undefined> {
    return this.#first((folder) => this.#map(folder, name))
  }

  /** It is given another program, so that there are never two at one hook. */
  link(attachType: AttachType): Promise<BpfLink | undefined> {
    return this.#first((folder) => this.#opened(join(folder, 'links', attachType), (path) => this.#bpf.openLink(path)))
  }

  /** Once nothing leads there any more. */
  async remove(): Promise<void> {
    for (const folder of this.#folders) {
      try {
        await this.#bpf.unpin(folder)
        this.#log.info('the tables of another version of Fairlead are removed', { folder })
      } catch (error) {
        if (!isDispensable(error)) throw error
        this.#log.warn('cannot remove the tables of another version of Fairlead', { folder, error })
      }
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

  async #config(folder: string): Promise<BpfMap | undefined> {
    const config = await this.#map(folder, 'config')
    if (config === undefined || isConfigMap(config.spec)) return config
    config[Symbol.dispose]()
    this.#tell(pinOf(folder, 'config'), 'it is another map')
    return undefined
  }

  #map(folder: string, name: MapName): Promise<BpfMap | undefined> {
    return this.#opened(pinOf(folder, name), (path) => this.#bpf.openMap(path))
  }

  async #opened<T>(path: string, open: (path: string) => Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await open(path)
    } catch (error) {
      if (!isDispensable(error)) throw error
      this.#tell(path, error)
      return undefined
    }
  }

  /** Each once: some are asked for more than once. */
  #tell(path: string, error: unknown): void {
    if (this.#toldPaths.has(path)) return
    this.#toldPaths.add(path)
    this.#log.warn('cannot use what another version of Fairlead has pinned', { at: path, error })
  }
}

function isDispensable(error: unknown): boolean {
  return error instanceof BpfError && oneDoesWithout.has(error.reason)
}
