/** What this process holds of the kernel's programs and links: descriptors. */
import { closeSync } from 'node:fs'
import { BpfError } from './bpf-error.ts'
import type { AttachType, BpfLink, BpfProgram } from './bpf.ts'
import type { ProgramImage } from './program-image.ts'

/** Closed once. A number that was closed may be another file by now, so it is never used again. */
export class Descriptor implements Disposable {
  readonly #of: string
  #number: number

  /** It takes over the descriptor. `of` says what it is: `the map "config"`. */
  constructor(number: number, of: string) {
    this.#number = number
    this.#of = of
  }

  get isOpen(): boolean {
    return this.#number >= 0
  }

  get number(): number {
    if (!this.isOpen) throw new BpfError('refused', `cannot use ${this.#of}: it was let go of`)
    return this.#number
  }

  [Symbol.dispose](): void {
    if (this.isOpen) closeSync(this.#number)
    this.#number = -1
  }
}

export class KernelProgram implements BpfProgram {
  readonly id: number
  readonly image: ProgramImage
  readonly #descriptor: Descriptor

  constructor(fd: number, id: number, image: ProgramImage) {
    this.id = id
    this.image = image
    this.#descriptor = new Descriptor(fd, `the program "${image.name}"`)
  }

  get fd(): number {
    return this.#descriptor.number
  }

  [Symbol.dispose](): void {
    this.#descriptor[Symbol.dispose]()
  }
}

export class KernelLink implements BpfLink {
  readonly attachType: AttachType
  readonly #descriptor: Descriptor

  constructor(fd: number, attachType: AttachType) {
    this.attachType = attachType
    this.#descriptor = new Descriptor(fd, `a link (${attachType})`)
  }

  get fd(): number {
    return this.#descriptor.number
  }

  [Symbol.dispose](): void {
    this.#descriptor[Symbol.dispose]()
  }
}
