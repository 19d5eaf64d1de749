/** The maps of the hooks as this process has them, and what it wrote there last. */
import { join } from 'node:path'
import { undefinedIf } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf, BpfMap, MapSpec } from '../../dataplane/ebpf/bpf.ts'
import { decodeFrontendKey, mapSpecs } from './layout.ts'
import type { MapName } from './layout.ts'
import { addressText } from './address-bytes.ts'
import { readTables } from './found-tables.ts'
import type { FoundTables, SocketMaps } from './found-tables.ts'
import { frontendId } from './frontends-of.ts'
import type { OtherLayouts } from './other-layouts.ts'
import { specsOf } from './sizes.ts'
import type { MapSizes, MapSpecs } from './sizes.ts'
import type { Step } from './steps.ts'
import { WrittenHash } from './written-hash.ts'

export const mapNames = Object.keys(mapSpecs) as readonly MapName[]

/** Only this process writes there, so what is there is what it wrote. The programs write the others. */
const watchedArrays = ['services', 'slots', 'endpoints'] as const
const watchedHashes = ['frontends', 'node_addresses'] as const

type WatchedArray = (typeof watchedArrays)[number]
type WatchedHash = (typeof watchedHashes)[number]

export interface TablesOptions {
  /** In a BPF file system. */
  readonly folder: string
  /** How large maps are made at least. */
  readonly specs: MapSpecs
}

export class SocketTables implements Disposable {
  readonly #maps: Record<MapName, BpfMap>
  #specs: MapSpecs
  readonly #folder: string
  /** To be pinned once the programs use them: what is pinned now is what they use. */
  readonly #unpinned: Set<MapName>
  #replaced: { readonly name: MapName; readonly map: BpfMap }[] = []
  readonly #made: ReadonlySet<MapName>
  /** The programs that run have others in their place. */
  #hasNewMaps: boolean
  #arrays = new Map<WatchedArray, Buffer>()
  #hashes = new Map<WatchedHash, WrittenHash>()

  private constructor(
    { folder }: TablesOptions,
    maps: Record<MapName, BpfMap>,
    { made, unpinned }: { readonly made: ReadonlySet<MapName>; readonly unpinned: Set<MapName> },
  ) {
    this.#folder = folder
    this.#maps = maps
    this.#specs = specsOf(maps)
    this.#unpinned = unpinned
    this.#made = made
    this.#hasNewMaps = made.size > 0
  }

  /**
   * Those that are pinned in the folder, if they are of the right kind; others are made, of the usual size. What sockets
   * remember is taken from tables of other layouts.
   */
  static async open(bpf: Bpf, options: TablesOptions, others: OtherLayouts): Promise<SocketTables> {
    const { folder, specs } = options
    const opened = new Map<MapName, BpfMap>()
    const [made, unpinned] = [new Set<MapName>(), new Set<MapName>()]
    try {
      const pinned = new Set(await bpf.pinned(join(folder, 'maps')))
      for (const name of mapNames) {
        const [path, isPinned] = [pinOf(folder, name), pinned.has(name)]
        // What is no map, or has no memory to share, makes way, as a map of another kind does.
        const found = isPinned ? await bpf.openMap(path).catch(undefinedIf('refused', 'unsupported')) : undefined
        const inherited = isPinned ? undefined : await inheritedMap(others, name, specs[name])
        if (inherited !== undefined) {
          opened.set(name, inherited)
          await bpf.pin(inherited, path)
        } else if (found !== undefined && isOfKind(found.spec, specs[name])) opened.set(name, found)
        else {
          found?.[Symbol.dispose]()
          const map = await bpf.createMap(specs[name])
          opened.set(name, map)
          made.add(name)
          if (isPinned) unpinned.add(name)
          else await bpf.pin(map, path)
        }
      }
    } catch (error) {
      for (const map of opened.values()) map[Symbol.dispose]()
      throw error
    }
    return new SocketTables(options, Object.fromEntries(opened) as Record<MapName, BpfMap>, { made, unpinned })
  }

  /** New ones of the usual size, which nobody else can see before `pinNew`. */
  static async make(bpf: Bpf, options: TablesOptions): Promise<SocketTables> {
    const made = new Map<MapName, BpfMap>()
    try {
      for (const name of mapNames) made.set(name, await bpf.createMap(options.specs[name]))
    } catch (error) {
      for (const map of made.values()) map[Symbol.dispose]()
      throw error
    }
    const maps = Object.fromEntries(made) as Record<MapName, BpfMap>
    return new SocketTables(options, maps, { made: new Set(mapNames), unpinned: new Set() })
  }

  get maps(): SocketMaps {
    return this.#maps
  }

  /** Nothing was there before. */
  get areAllNew(): boolean {
    return this.#made.size === mapNames.length
  }

  /** It was not there before. */
  isNew(name: MapName): boolean {
    return this.#made.has(name)
  }

  get hasNewMaps(): boolean {
    return this.#hasNewMaps
  }

  /** As they are. */
  get specs(): MapSpecs {
    return this.#specs
  }

  /** As they are. Whatever is not as this process writes it from here on, somebody else did. */
  async read(): Promise<FoundTables> {
    await this.#remember()
    return readTables(this.#maps)
  }

  /** In this order, each when the one before is done. */
  async send(steps: readonly Step[], signal: AbortSignal): Promise<void> {
    for (const step of steps) {
      signal.throwIfAborted()
      await this.#do(step)
      this.#note(step)
    }
  }

  /** What somebody else did. Undefined: all is as it was written. */
  findDifference(): Promise<string | undefined> {
    return lastOf(this.look())
  }

  /** The same in steps of about a millisecond. Between two of them this process may write. */
  async *look(): AsyncGenerator<undefined, string | undefined> {
    for (const name of watchedArrays) {
      const written = this.#arrays.get(name)
      if (written !== undefined && !written.equals(this.#maps[name].bytes))
        return `element ${differingElement(written, this.#maps[name])} of the map ${name} was changed`
      yield
    }
    for (const name of watchedHashes) {
      if (yield* this.#isSameInParts(name)) continue
      const different = this.#hashes.get(name)?.difference(await this.#maps[name].packedEntries())
      if (different !== undefined) return `${entryText(name, different.key)} ${different.was} in the map ${name}`
      yield
    }
    return undefined
  }

  /** False also if it was written meanwhile, or replaced: then all of it has to be looked at in one go. */
  async *#isSameInParts(name: WatchedHash): AsyncGenerator<undefined, boolean> {
    const [hash, map] = [this.#hashes.get(name), this.#maps[name]]
    const look = hash?.look()
    if (look === undefined) return false
    for (let at: Uint8Array | undefined; ;) {
      const part = await map.packedPart(at)
      look.add(part)
      if (part.next === undefined) return look.isSame()
      yield
      if (map !== this.#maps[name] || hash !== this.#hashes.get(name)) return false
      at = part.next
    }
  }

  /** The same with more room, or nothing. The programs go on with the old ones until they are loaded anew. */
  async grow(bpf: Bpf, sizes: MapSizes): Promise<void> {
    const larger = await this.#copies(bpf, sizes)
    for (const [name, map] of larger) {
      this.#replaced.push({ name, map: this.#maps[name] })
      this.#maps[name] = map
      this.#hasNewMaps = true
      this.#unpinned.add(name)
    }
    this.#specs = specsOf(this.#maps)
    await this.#remember()
  }

  /** Where nothing is pinned. Rejects with a BpfError `exists` if somebody was faster. */
  async pinNew(bpf: Bpf): Promise<void> {
    for (const name of mapNames) await bpf.pin(this.#maps[name], pinOf(this.#folder, name))
  }

  /** Maps that larger ones have replaced, until `pin`: the programs went on with them until they were loaded anew. */
  replaced(name: MapName): readonly BpfMap[] {
    return this.#replaced.filter((old) => old.name === name).map(({ map }) => map)
  }

  /** The programs use these maps now. */
  async pin(bpf: Bpf): Promise<void> {
    const pinned = new Set(await bpf.pinned(join(this.#folder, 'maps')))
    for (const name of mapNames) {
      const isOld = this.#unpinned.has(name)
      if (!isOld && pinned.has(name)) continue
      if (isOld) await bpf.unpin(pinOf(this.#folder, name))
      await bpf.pin(this.#maps[name], pinOf(this.#folder, name))
      this.#unpinned.delete(name)
    }
    for (const { map } of this.#replaced) map[Symbol.dispose]()
    this.#replaced = []
    this.#hasNewMaps = false
  }

  async missingPin(bpf: Bpf): Promise<string | undefined> {
    const pinned = new Set(await bpf.pinned(join(this.#folder, 'maps')))
    return mapNames.find((name) => !pinned.has(name))
  }

  [Symbol.dispose](): void {
    for (const map of [...Object.values(this.#maps), ...this.#replaced.map(({ map }) => map)]) map[Symbol.dispose]()
  }

  /** All of them: what has a place in one map has one in others, too. */
  async #copies(bpf: Bpf, sizes: MapSizes): Promise<ReadonlyMap<MapName, BpfMap>> {
    const made = new Map<MapName, BpfMap>()
    try {
      for (const name of mapNames) {
        const old = this.#maps[name]
        const spec = withRoom(old.spec, sizes.get(name))
        if (spec.maxEntries === old.spec.maxEntries) continue
        const map = await bpf.createMap(spec)
        made.set(name, map)
        if (spec.type === 'array') await map.fill(0, old.bytes)
        else await map.update(await old.packedEntries())
      }
      return made
    } catch (error) {
      for (const map of made.values()) map[Symbol.dispose]()
      throw error
    }
  }

  /** What is there now is right. */
  async #remember(): Promise<void> {
    for (const name of watchedArrays) this.#arrays.set(name, Buffer.from(this.#maps[name].bytes))
    for (const name of watchedHashes) {
      const map = this.#maps[name]
      this.#hashes.set(name, new WrittenHash(map.spec, await map.packedEntries()))
    }
  }

  #do(step: Step): Promise<void> {
    const map = this.#maps[step.map]
    switch (step.do) {
      case 'fill':
        return map.fill(step.offset, step.bytes)
      case 'store':
        return map.store(step.offset, step.word)
      case 'update':
        return map.update(step.entries)
      case 'delete':
        return map.delete(step.keys)
      default:
        return step satisfies never
    }
  }

  #note(step: Step): void {
    switch (step.do) {
      case 'fill':
        return this.#arrays.get(step.map as WatchedArray)?.set(step.bytes, step.offset)
      case 'store':
        return void this.#arrays.get(step.map as WatchedArray)?.writeBigUInt64LE(step.word, step.offset)
      case 'update':
        return this.#hashes.get(step.map as WatchedHash)?.update(step.entries)
      case 'delete':
        return this.#hashes.get(step.map as WatchedHash)?.delete(step.keys)
      default:
        return step satisfies never
    }
  }
}

/** All steps at once. */
export async function lastOf<T>(steps: AsyncGenerator<undefined, T>): Promise<T> {
  for (;;) {
    const step = await steps.next()
    if (step.done === true) return step.value
  }
}

async function inheritedMap(others: OtherLayouts, name: MapName, wanted: MapSpec): Promise<BpfMap | undefined> {
  const map = wanted.type === 'socket-storage' ? await others.map(name) : undefined
  if (map === undefined || isOfKind(map.spec, wanted)) return map
  map[Symbol.dispose]()
  return undefined
}

export function pinOf(folder: string, name: MapName): string {
  return join(folder, 'maps', name)
}

function withRoom(spec: MapSpec, maxEntries = 0): MapSpec {
  return { ...spec, maxEntries: Math.max(spec.maxEntries, maxEntries) }
}

function isOfKind(found: MapSpec, wanted: MapSpec): boolean {
  return (
    found.type === wanted.type &&
    found.keySize === wanted.keySize &&
    found.valueSize === wanted.valueSize &&
    found.maxEntries >= wanted.maxEntries
  )
}

function differingElement(written: Buffer, { bytes, spec }: BpfMap): number {
  for (let index = 0; index < spec.maxEntries; index++) {
    const [from, to] = [index * spec.valueSize, (index + 1) * spec.valueSize]
    if (!written.subarray(from, to).equals(bytes.subarray(from, to))) return index
  }
  return spec.maxEntries
}

function entryText(map: WatchedHash, key: Uint8Array): string {
  const bytes = Buffer.from(key)
  if (map === 'node_addresses') return addressText(bytes)
  const frontend = decodeFrontendKey(bytes)
  return frontend === undefined ? bytes.toString('hex') : frontendId(frontend)
}
