/** Maps, links and pins that exist only in memory. It outlives the processes (MemoryBpf) that use it. */
import { BpfError, bpfErrorFrom } from './bpf-error.ts'
import type { AttachedProgram, AttachType, LinkState, MapEntry, MapSpec, MapType } from './bpf.ts'
import { constants } from 'node:os'
import type { ProgramImage } from './program-image.ts'

export interface MapObject {
  readonly kind: 'map'
  readonly spec: MapSpec
  /** Of a hash, by the bytes of the key. */
  readonly entriesByKey: Map<string, MapEntry>
  /** Of an array. */
  readonly bytes: Uint8Array
}

export interface ProgramObject {
  readonly id: number
  readonly image: ProgramImage
  readonly mapsByName: ReadonlyMap<string, MapObject>
}

export interface LinkObject {
  readonly kind: 'link'
  readonly attachType: AttachType
  program: ProgramObject
  /** None: it was detached, or the cgroup was removed. */
  cgroup: Cgroup | undefined
  /** Handles and pins. Without any, the kernel takes the program away. */
  holders: number
}

interface Cgroup {
  readonly path: string
  readonly id: bigint
  readonly places: Place[]
}

type Place = { readonly attachType: AttachType } & (
  { readonly link: LinkObject } | { readonly foreign: AttachedProgram }
)

export class MemoryKernel {
  readonly #bpffs: string
  readonly #cgroupsByPath = new Map<string, Cgroup>()
  readonly #pins = new Map<string, MapObject | LinkObject>()
  #lastId = 0

  /** What this kernel cannot do: hooks, types of maps, batches, or programs by their section. */
  readonly lacks = new Set<AttachType | MapType | 'iterator' | 'batches' | `cgroup/${string}`>()

  /** Called when a process runs an iterator: what the program would do. */
  onIterate: (program: ProgramObject, map: MapObject) => void = () => {}

  /** It has this BPF file system, and the folders of these cgroups. */
  constructor({ bpffs, cgroups }: { readonly bpffs: string; readonly cgroups: readonly string[] }) {
    this.#bpffs = bpffs
    for (const path of cgroups) this.addCgroup(path)
  }

  nextId(): number {
    return ++this.#lastId
  }

  addCgroup(path: string): void {
    this.#cgroupsByPath.set(path, { path, id: BigInt(this.nextId()), places: [] })
  }

  /** Its links lose their place. */
  removeCgroup(path: string): void {
    for (const place of this.#cgroupAt(path, 'remove').places) if ('link' in place) place.link.cgroup = undefined
    this.#cgroupsByPath.delete(path)
  }

  /** What another party attaches without a link of ours. */
  attachForeign(cgroup: string, attachType: AttachType, program: AttachedProgram): void {
    this.#cgroupAt(cgroup, 'attach to').places.push({ attachType, foreign: program })
  }

  attach(program: ProgramObject, attachType: AttachType, path: string): LinkObject {
    const doing = `attach the program "${program.image.name}" to the cgroup ${path}`
    const cgroup = this.#cgroupAt(path, `attach the program "${program.image.name}" to`, doing)
    const alone = this.#aloneAt(cgroup, attachType)
    if (alone !== undefined)
      throw new BpfError(
        'in-use',
        `cannot ${doing}: "${alone.name}" is attached to ${alone.at} and tolerates no other (EPERM)`,
      )
    const link: LinkObject = { kind: 'link', attachType, program, cgroup, holders: 0 }
    cgroup.places.push({ attachType, link })
    return link
  }

  detach(link: LinkObject): void {
    const places = link.cgroup?.places ?? []
    const at = places.findIndex((place) => 'link' in place && place.link === link)
    if (at >= 0) places.splice(at, 1)
    link.cgroup = undefined
  }

  hold(object: MapObject | LinkObject): void {
    if (object.kind === 'link') object.holders++
  }

  letGo(object: MapObject | LinkObject): void {
    if (object.kind === 'link' && --object.holders === 0) this.detach(object)
  }

  pin(object: MapObject | LinkObject, path: string): void {
    const doing = `pin at ${path}`
    const isInside = path.startsWith(`${this.#bpffs}/`)
    if (!isInside || path.slice(this.#bpffs.length).includes('.'))
      throw bpfErrorFrom(constants.errno.EPERM, 'pin', doing)
    if (this.#pins.has(path)) throw bpfErrorFrom(constants.errno.EEXIST, 'pin', doing)
    this.#pins.set(path, object)
    this.hold(object)
  }

  unpin(path: string): void {
    for (const [pin, object] of this.#pins)
      if (pin === path || pin.startsWith(`${path}/`)) {
        this.#pins.delete(pin)
        this.letGo(object)
      }
  }

  pinned(folder: string): readonly string[] {
    const start = `${folder}/`
    return [...this.#pins.keys()]
      .filter((pin) => pin.startsWith(start))
      .map((pin) => pin.slice(start.length))
      .toSorted()
  }

  open(path: string): MapObject | LinkObject | undefined {
    return this.#pins.get(path)
  }

  attached(path: string, attachType: AttachType): readonly AttachedProgram[] {
    const { places } = this.#cgroupAt(path, 'list the programs of')
    return places
      .filter((place) => place.attachType === attachType)
      .map((place) =>
        'foreign' in place
          ? place.foreign
          : { id: place.link.program.id, name: place.link.program.image.name.slice(0, 15), sharing: 'shared' },
      )
  }

  /** Those of ours that run for the sockets of this cgroup itself, with the maps that they read. */
  running(path: string, attachType: AttachType): readonly ProgramObject[] {
    const { places } = this.#cgroupAt(path, 'list the programs of')
    return places.flatMap((place) => (place.attachType === attachType && 'link' in place ? [place.link.program] : []))
  }

  linkState({ cgroup, program }: LinkObject): LinkState | undefined {
    return cgroup && { programId: program.id, cgroupId: cgroup.id }
  }

  /** An exclusive program keeps others from the cgroups below, too. */
  #aloneAt(
    cgroup: Cgroup,
    attachType: AttachType,
  ): { readonly name: string | undefined; readonly at: string } | undefined {
    for (const { path } of this.#upwards(cgroup)) {
      const isHere = path === cgroup.path
      const alone = this.attached(path, attachType).find(({ sharing }) =>
        isHere ? sharing !== 'shared' : sharing === 'exclusive',
      )
      if (alone !== undefined) return { name: alone.name, at: path }
    }
    return undefined
  }

  /** The cgroup, then those above it. */
  #upwards({ path }: Cgroup): readonly Cgroup[] {
    return [...this.#cgroupsByPath.values()]
      .filter((other) => path === other.path || path.startsWith(`${other.path}/`))
      .toSorted((a, b) => b.path.length - a.path.length)
  }

  #cgroupAt(path: string, doing: string, whole = `${doing} the cgroup ${path}`): Cgroup {
    const cgroup = this.#cgroupsByPath.get(path)
    if (cgroup === undefined) throw new BpfError('no-cgroup2', `cannot ${whole}: there is no such folder (ENOENT)`)
    return cgroup
  }
}
