/** What one process has of a MemoryKernel. When it ends, `[Symbol.dispose]` lets go of what it held, as the kernel does. */
import type { AttachedProgram, AttachType, Bpf, BpfLink, BpfMap, BpfProgram, LinkState, MapSpec } from './bpf.ts'
import { constants } from 'node:os'
import { BpfError, bpfErrorFrom } from './bpf-error.ts'
import { assertMapType, checkedMapSpec } from './map-rules.ts'
import { mapObject, MemoryMap } from './memory-map.ts'
import type { LinkObject, MapObject, MemoryKernel, ProgramObject } from './memory-kernel.ts'
import { hookOf, mapsOf } from './program-rules.ts'
import type { ProgramImage } from './program-image.ts'

export class MemoryBpf implements Bpf, Disposable {
  readonly #kernel: MemoryKernel
  readonly #handles = new Set<Disposable>()

  constructor(kernel: MemoryKernel) {
    this.#kernel = kernel
  }

  async createMap(spec: MapSpec): Promise<BpfMap> {
    const checked = checkedMapSpec(spec)
    if (this.#kernel.lacks.has(spec.type))
      throw bpfErrorFrom(constants.errno.EINVAL, 'create-map', `create the map "${spec.name}" (${spec.type})`)
    return this.#mapHandle(mapObject(checked))
  }

  async loadProgram(image: ProgramImage, maps: ReadonlyMap<string, BpfMap>): Promise<BpfProgram> {
    const { attachType, section, name: program } = image
    if (this.#kernel.lacks.has(attachType))
      throw new BpfError(
        'unsupported',
        `cannot load the program "${program}": this kernel has no hook ${attachType} (EINVAL)`,
      )
    if (this.#kernel.lacks.has(section as `cgroup/${string}`))
      throw new BpfError(
        'rejected',
        `cannot load the program "${program}": the kernel refuses instruction 7: unknown func`,
      )
    const mapsByName = new Map<string, MapObject>()
    for (const [name, map] of mapsOf(image, maps)) mapsByName.set(name, (map as MemoryMap).object)
    return this.#keep(new MemoryProgram({ id: this.#kernel.nextId(), image, mapsByName }))
  }

  async attach(program: BpfProgram, cgroup: string): Promise<BpfLink> {
    const link = this.#kernel.attach((program as MemoryProgram).object, hookOf(program.image), cgroup)
    return this.#linkHandle(link)
  }

  async replace(link: BpfLink, program: BpfProgram): Promise<void> {
    const attachType = hookOf(program.image)
    const { object } = link as MemoryLink
    const doing = `put the program "${program.image.name}" in its place`
    if (attachType !== object.attachType)
      throw new BpfError(
        'refused',
        `cannot ${doing}: the link is for ${object.attachType}, the program for ${attachType}`,
      )
    if (object.cgroup === undefined)
      throw new BpfError('gone', `cannot ${doing}: the link was detached, or its cgroup was removed (ENOLINK)`)
    object.program = (program as MemoryProgram).object
  }

  async detach(link: BpfLink): Promise<void> {
    this.#kernel.detach((link as MemoryLink).object)
  }

  async pin(object: BpfMap | BpfLink, path: string): Promise<void> {
    this.#kernel.pin((object as MemoryMap | MemoryLink).object, path)
  }

  async unpin(path: string): Promise<void> {
    this.#kernel.unpin(path)
  }

  async pinned(folder: string): Promise<readonly string[]> {
    return this.#kernel.pinned(folder)
  }

  async openMap(path: string): Promise<BpfMap | undefined> {
    const object = this.#kernel.open(path)
    if (object?.kind === 'link') throw new BpfError('refused', `cannot open the map at ${path}: it is a link`)
    return object && this.#mapHandle(object)
  }

  async openLink(path: string): Promise<BpfLink | undefined> {
    const object = this.#kernel.open(path)
    if (object?.kind === 'map') throw new BpfError('refused', `cannot open the link at ${path}: it is a map`)
    return object && this.#linkHandle(object)
  }

  async linkState(link: BpfLink): Promise<LinkState | undefined> {
    return this.#kernel.linkState((link as MemoryLink).object)
  }

  async attached(cgroup: string, attachType: AttachType): Promise<readonly AttachedProgram[]> {
    return this.#kernel.attached(cgroup, attachType)
  }

  async iterate(program: BpfProgram, map: BpfMap): Promise<void> {
    if (program.image.attachType !== 'iterator')
      throw new BpfError('refused', `cannot run the program "${program.image.name}": it is not an iterator`)
    assertMapType(map.spec, 'iterate over', 'socket-storage')
    this.#kernel.onIterate((program as MemoryProgram).object, (map as MemoryMap).object)
  }

  async hasBatches(): Promise<boolean> {
    return !this.#kernel.lacks.has('batches')
  }

  async fence(): Promise<void> {}

  [Symbol.dispose](): void {
    for (const handle of this.#handles) handle[Symbol.dispose]()
  }

  #mapHandle(object: MapObject): MemoryMap {
    const handle: MemoryMap = new MemoryMap(object, () => this.#handles.delete(handle))
    return this.#keep(handle)
  }

  #linkHandle(object: LinkObject): MemoryLink {
    this.#kernel.hold(object)
    const handle: MemoryLink = new MemoryLink(object, () => {
      this.#handles.delete(handle)
      this.#kernel.letGo(object)
    })
    return this.#keep(handle)
  }

  #keep<H extends Disposable>(handle: H): H {
    this.#handles.add(handle)
    return handle
  }
}

class MemoryProgram implements BpfProgram {
  readonly image: ProgramImage
  readonly id: number
  readonly object: ProgramObject

  constructor(object: ProgramObject) {
    this.image = object.image
    this.id = object.id
    this.object = object
  }

  /** Links keep it. */
  [Symbol.dispose](): void {}
}

class MemoryLink implements BpfLink {
  readonly attachType: AttachType
  readonly object: LinkObject
  #onClose: (() => void) | undefined

  constructor(object: LinkObject, onClose: () => void) {
    this.attachType = object.attachType
    this.object = object
    this.#onClose = onClose
  }

  [Symbol.dispose](): void {
    const onClose = this.#onClose
    this.#onClose = undefined
    onClose?.()
  }
}
