/** The kernel's programs and maps, over bpf(2). */
import { closeSync, constants as fileConstants, openSync, read, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { Libc } from '../libc/load-libc.ts'
import { attachTypeNumber, BpfAttributes, bpfCommand, mapTypeNumber } from './bpf-attributes.ts'
import { BpfError, bpfErrorFrom } from './bpf-error.ts'
import type { BpfCall } from './bpf-error.ts'
import { attachTypes } from './bpf.ts'
import type {
  AttachedProgram,
  AttachType,
  Bpf,
  BpfLink,
  BpfMap,
  BpfProgram,
  LinkState,
  MapSpec,
  MapType,
} from './bpf.ts'
import { storageTypeId, storageTypes } from './btf.ts'
import { KernelLink, KernelProgram } from './kernel-handles.ts'
import { KernelMap } from './kernel-map.ts'
import { loadProgram } from './load-program.ts'
import { assertMapType, checkedMapSpec } from './map-rules.ts'
import { listPins, makePinFolder, removePins } from './pin-files.ts'
import type { ProgramImage } from './program-image.ts'
import { hookOf } from './program-rules.ts'

const { ENOENT, EPERM, ENOLINK, ENOSPC } = constants.errno

export class KernelBpf implements Bpf {
  readonly #libc: Libc
  #fenceMap: { readonly outer: number; readonly inner: number } | undefined

  constructor(libc: Libc) {
    this.#libc = libc
  }

  async createMap(spec: MapSpec): Promise<BpfMap> {
    const checked = checkedMapSpec(spec)
    const { name, type, keySize, valueSize, maxEntries } = checked
    const types = type === 'socket-storage' ? this.#storageTypes(checked) : undefined
    const attributes = this.#attributes(72)
      .u32(0, mapTypeNumber[type])
      .u32(4, keySize)
      .u32(8, valueSize)
      .u32(12, maxEntries)
      .u32(16, mapFlags[type] ?? 0)
      .name(28, name)
    if (types !== undefined) attributes.u32(48, types).u32(52, storageTypeId.key).u32(56, storageTypeId.value)
    try {
      const fd = this.#call(attributes, bpfCommand.createMap, 'create-map', `create the map "${name}" (${type})`)
      return elseClosed(fd, () => this.#mapHandle(fd, checked))
    } finally {
      if (types !== undefined) closeSync(types)
    }
  }

  async loadProgram(image: ProgramImage, maps: ReadonlyMap<string, BpfMap>): Promise<BpfProgram> {
    const fd = loadProgram(this.#libc, image, maps)
    return elseClosed(fd, () => {
      const id = this.#info(fd, 80, `read about the program "${image.name}"`).readUInt32LE(4)
      return new KernelProgram(fd, id, image)
    })
  }

  async attach(program: BpfProgram, cgroup: string): Promise<BpfLink> {
    const attachType = hookOf(program.image)
    const doing = `attach the program "${program.image.name}" to the cgroup ${cgroup}`
    const folder = openFolder(cgroup, doing)
    try {
      const attributes = this.#attributes(16)
        .u32(0, (program as KernelProgram).fd)
        .u32(4, folder)
        .u32(8, attachTypeNumber[attachType])
      const fd = attributes.call(bpfCommand.createLink)
      if (fd === -EPERM) throw await this.#refusedBy(cgroup, attachType, doing)
      if (fd < 0) throw bpfErrorFrom(-fd, 'attach', doing)
      return new KernelLink(fd, attachType)
    } finally {
      closeSync(folder)
    }
  }

  async replace(link: BpfLink, program: BpfProgram): Promise<void> {
    const attachType = hookOf(program.image)
    const doing = `put the program "${program.image.name}" in its place`
    // The kernel takes a program of another attach type, which would then see other addresses than it expects.
    if (attachType !== link.attachType)
      throw new BpfError(
        'refused',
        `cannot ${doing}: the link is for ${link.attachType}, the program for ${attachType}`,
      )
    const attributes = this.#attributes(16)
      .u32(0, (link as KernelLink).fd)
      .u32(4, (program as KernelProgram).fd)
    this.#call(attributes, bpfCommand.updateLink, 'replace', doing)
  }

  async detach(link: BpfLink): Promise<void> {
    const result = this.#attributes(4)
      .u32(0, (link as KernelLink).fd)
      .call(bpfCommand.detachLink)
    if (result < 0 && result !== -ENOLINK) throw bpfErrorFrom(-result, 'other', `detach a program (${link.attachType})`)
  }

  async pin(object: BpfMap | BpfLink, path: string): Promise<void> {
    const doing = `pin at ${path}`
    await makePinFolder(dirname(path), doing)
    const { fd } = object as KernelMap | KernelLink
    const attributes = this.#attributes(16)
      .pointer(0, Buffer.from(`${path}\0`))
      .u32(8, fd)
    this.#call(attributes, bpfCommand.pin, 'pin', doing)
  }

  unpin(path: string): Promise<void> {
    return removePins(path)
  }

  pinned(folder: string): Promise<readonly string[]> {
    return listPins(folder)
  }

  async openMap(path: string): Promise<BpfMap | undefined> {
    const fd = this.#openPin(path, 'map')
    if (fd === undefined) return undefined
    return elseClosed(fd, () => {
      const info = this.#info(fd, 80, `read about the map at ${path}`)
      const number = info.readUInt32LE(0)
      const type = mapTypes.find((each) => mapTypeNumber[each] === number)
      if (type === undefined)
        throw new BpfError(
          'refused',
          `cannot open the map at ${path}: its type is ${number}, which Fairlead does not use`,
        )
      const [keySize, valueSize, maxEntries] = [info.readUInt32LE(8), info.readUInt32LE(12), info.readUInt32LE(16)]
      return this.#mapHandle(fd, { name: nameIn(info, 24), type, keySize, valueSize, maxEntries })
    })
  }

  async openLink(path: string): Promise<BpfLink | undefined> {
    const fd = this.#openPin(path, 'link')
    if (fd === undefined) return undefined
    return elseClosed(fd, () => {
      const number = this.#info(fd, 32, `read about the link at ${path}`).readUInt32LE(24)
      const attachType = attachTypes.find((type) => attachTypeNumber[type] === number)
      if (attachType !== undefined) return new KernelLink(fd, attachType)
      throw new BpfError('refused', `cannot open the link at ${path}: it is for no hook that is known`)
    })
  }

  async linkState(link: BpfLink): Promise<LinkState | undefined> {
    const info = this.#info((link as KernelLink).fd, 32, `read about a link (${link.attachType})`)
    const cgroupId = info.readBigUInt64LE(16)
    return cgroupId === 0n ? undefined : { programId: info.readUInt32LE(8), cgroupId }
  }

  async attached(cgroup: string, attachType: AttachType): Promise<readonly AttachedProgram[]> {
    const { ids, flags } = this.#query(cgroup, attachType)
    const sharing = sharings[flags] ?? 'shared'
    return ids.map((id) => ({ id, name: this.#nameOfProgram(id), sharing }))
  }

  async iterate(program: BpfProgram, map: BpfMap): Promise<void> {
    const doing = `run the iterator "${program.image.name}"`
    if (program.image.attachType !== 'iterator')
      throw new BpfError('refused', `cannot run the program "${program.image.name}": it is not an iterator`)
    assertMapType(map.spec, 'iterate over', 'socket-storage')
    const over = Buffer.alloc(4)
    over.writeUInt32LE((map as KernelMap).fd)
    const attributes = this.#attributes(32)
      .u32(0, (program as KernelProgram).fd)
      .u32(8, attachTypeNumber.iterator)
      .pointer(16, over)
      .u32(24, over.length)
    const link = this.#call(attributes, bpfCommand.createLink, 'other', doing)
    try {
      const iterator = this.#call(this.#attributes(8).u32(0, link), bpfCommand.createIterator, 'other', doing)
      try {
        await readToEnd(iterator)
      } finally {
        closeSync(iterator)
      }
    } finally {
      closeSync(link)
    }
  }

  async hasBatches(): Promise<boolean> {
    using map = await this.createMap({ name: 'fl_probe', type: 'hash', keySize: 4, valueSize: 4, maxEntries: 1 })
    await map.update([[new Uint8Array(4), new Uint8Array(4)]])
    return (map as KernelMap).hasBatches
  }

  /** Whoever changes an array of maps waits for the programs that may still use the old map. */
  async fence(): Promise<void> {
    const doing = 'wait for the programs that are running'
    this.#fenceMap ??= this.#createFenceMap(doing)
    const { outer, inner } = this.#fenceMap
    const value = Buffer.alloc(4)
    value.writeUInt32LE(inner)
    const attributes = this.#attributes(32).u32(0, outer).pointer(8, Buffer.alloc(4)).pointer(16, value)
    if (!(await attributes.callAsync(bpfCommand.update)))
      throw new BpfError('refused', `cannot ${doing}: the kernel refuses it`)
  }

  #createFenceMap(doing: string): { readonly outer: number; readonly inner: number } {
    const tiny = (type: number) => this.#attributes(72).u32(0, type).u32(4, 4).u32(8, 4).u32(12, 1).name(28, 'fl_fence')
    const inner = this.#call(tiny(mapTypeNumber.array), bpfCommand.createMap, 'create-map', doing)
    return elseClosed(inner, () => {
      const holder = tiny(mapTypeNumber['array-of-maps']).u32(20, inner)
      return { inner, outer: this.#call(holder, bpfCommand.createMap, 'create-map', doing) }
    })
  }

  #mapHandle(fd: number, spec: MapSpec): KernelMap {
    return new KernelMap({ libc: this.#libc, fd, spec })
  }

  /** Returns a descriptor. */
  #storageTypes({ name, valueSize }: MapSpec): number {
    const types = storageTypes(valueSize)
    const attributes = this.#attributes(28).pointer(0, types).u32(16, types.length)
    return this.#call(attributes, bpfCommand.loadTypes, 'create-map', `describe the map "${name}"`)
  }

  /** The kernel says EPERM in both cases: somebody is there alone, or this process may not attach. */
  async #refusedBy(cgroup: string, attachType: AttachType, doing: string): Promise<BpfError> {
    for (let at = cgroup; ; at = dirname(at)) {
      const others = await this.attached(at, attachType).catch(() => [])
      const alone = others.find(({ sharing }) => sharing !== 'shared')
      if (alone !== undefined) {
        const name = alone.name === undefined ? `program ${alone.id} (its name needs CAP_SYS_ADMIN)` : `"${alone.name}"`
        return new BpfError('in-use', `cannot ${doing}: ${name} is attached to ${at} and tolerates no other (EPERM)`)
      }
      if (at === dirname(at)) return bpfErrorFrom(EPERM, 'other', doing)
    }
  }

  #openPin(path: string, wanted: 'map' | 'link'): number | undefined {
    const doing = `open the ${wanted} at ${path}`
    const fd = this.#attributes(16)
      .pointer(0, Buffer.from(`${path}\0`))
      .call(bpfCommand.openPin)
    if (fd === -ENOENT) return undefined
    if (fd < 0) throw bpfErrorFrom(-fd, 'open-pin', doing)
    // Such as `anon_inode:bpf-map`, or `anon_inode:bpf_link`.
    return elseClosed(fd, () => {
      const kind = /bpf[-_](\w+)/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1]
      if (kind === wanted) return fd
      throw new BpfError('refused', `cannot ${doing}: it is a ${kind}`)
    })
  }

  #query(cgroup: string, attachType: AttachType): { readonly ids: number[]; readonly flags: number } {
    const doing = `list the programs of the cgroup ${cgroup}`
    const folder = openFolder(cgroup, doing)
    try {
      for (let room = 64; ; room *= 4) {
        const ids = Buffer.alloc(4 * room)
        const query = this.#attributes(64)
          .u32(0, folder)
          .u32(4, attachTypeNumber[attachType])
          .pointer(16, ids)
          .u32(24, room)
        const result = query.call(bpfCommand.query)
        if (result === -ENOSPC) continue
        if (result < 0) throw bpfErrorFrom(-result, 'query', doing)
        const count = query.bytes.readUInt32LE(24)
        return {
          ids: Array.from({ length: count }, (_, index) => ids.readUInt32LE(4 * index)),
          flags: query.bytes.readUInt32LE(12),
        }
      }
    } finally {
      closeSync(folder)
    }
  }

  #nameOfProgram(id: number): string | undefined {
    const fd = this.#attributes(12).u32(0, id).call(bpfCommand.programById)
    if (fd < 0) return undefined
    try {
      return nameIn(this.#info(fd, 80, `read the name of the program ${id}`), 64)
    } finally {
      closeSync(fd)
    }
  }

  #info(fd: number, size: number, doing: string): Buffer {
    const info = Buffer.alloc(size)
    this.#call(this.#attributes(16).u32(0, fd).u32(4, size).pointer(8, info), bpfCommand.info, 'other', doing)
    return info
  }

  #attributes(size: number): BpfAttributes {
    return new BpfAttributes(this.#libc, size)
  }

  #call(attributes: BpfAttributes, command: number, call: BpfCall, doing: string): number {
    const result = attributes.call(command)
    if (result < 0) throw bpfErrorFrom(-result, call, doing)
    return result
  }
}

/** Arrays: to be mapped into memory. Socket storage: made with the socket. */
const mapFlags: Readonly<Partial<Record<MapType, number>>> = { array: 0x400, 'socket-storage': 1 }
const mapTypes: readonly MapType[] = ['hash', 'array', 'socket-storage']
const sharings: Readonly<Record<number, AttachedProgram['sharing']>> = { 0: 'exclusive', 1: 'overridable', 2: 'shared' }

/** A descriptor that becomes no handle has no owner. */
function elseClosed<T>(fd: number, make: () => T): T {
  try {
    return make()
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function openFolder(cgroup: string, doing: string): number {
  try {
    return openSync(cgroup, fileConstants.O_RDONLY | fileConstants.O_DIRECTORY)
  } catch (cause) {
    throw bpfErrorFrom(-((cause as NodeJS.ErrnoException).errno ?? 0), 'attach', doing, { cause })
  }
}

/** The walk is done inside of `read`, so on another thread: there may be many sockets. */
async function readToEnd(fd: number): Promise<void> {
  const buffer = Buffer.alloc(4096)
  for (;;) {
    const { bytesRead } = await promisify(read)(fd, buffer, 0, buffer.length, null)
    if (bytesRead === 0) return
  }
}

const nameIn = (info: Buffer, at: number): string => info.toString('latin1', at, info.indexOf(0, at))
