/** The programs at their places in the cgroup, and the pins that keep them there when this process ends. */
import { join } from 'node:path'
import type { Logger } from '../../core/logger.ts'
import { BpfError, undefinedIf } from '../../dataplane/ebpf/bpf-error.ts'
import type { AttachedProgram, AttachType, Bpf, BpfLink, BpfProgram } from '../../dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../dataplane/ebpf/program-image.ts'
import type { SocketMaps } from './found-tables.ts'
import type { OtherLayouts } from './other-layouts.ts'

/** The way back is there before the way there. */
const order: readonly AttachType[] = [
  'getpeername4',
  'getpeername6',
  'recvmsg4',
  'recvmsg6',
  'sendmsg4',
  'sendmsg6',
  'connect4',
  'connect6',
]

export interface HookLinksOptions {
  /** Of cgroup v2. */
  readonly cgroup: string
  /** In a BPF file system. */
  readonly folder: string
  /** One for each place. A place that the kernel does not have is missing. */
  readonly programs: readonly ProgramImage[]
  readonly log: Logger
}

interface Hook {
  readonly attachType: AttachType
  readonly image: ProgramImage
  program: BpfProgram | undefined
  link: BpfLink | undefined
}

export class HookLinks implements Disposable {
  readonly #options: HookLinksOptions
  readonly #hooks: readonly Hook[]
  /** Programs of others that were told of. */
  readonly #toldIds = new Set<number>()

  constructor(options: HookLinksOptions) {
    this.#options = options
    this.#hooks = order.flatMap((attachType) => {
      const image = options.programs.find((program) => program.attachType === attachType)
      return image === undefined ? [] : [{ attachType, image, program: undefined, link: undefined }]
    })
  }

  /** The programs that are attached use other maps: the next ones use these. */
  forgetPrograms(): void {
    for (const hook of this.#hooks) {
      hook.program?.[Symbol.dispose]()
      hook.program = undefined
    }
  }

  /** They run nowhere yet. */
  async load(bpf: Bpf, maps: SocketMaps): Promise<void> {
    const mapsByName = new Map(Object.entries(maps))
    for (const hook of this.#hooks) hook.program ??= await bpf.loadProgram(hook.image, mapsByName)
  }

  /** Each program is loaded, attached and pinned. One that was there before this process is replaced without a gap. */
  async ensure(bpf: Bpf, maps: SocketMaps, others: OtherLayouts, signal: AbortSignal): Promise<void> {
    await this.load(bpf, maps)
    const pinned = new Set(await bpf.pinned(this.#folder))
    for (const hook of this.#hooks) {
      signal.throwIfAborted()
      const isPinned = pinned.has(hook.attachType)
      if (!isPinned) hook.link ??= await others.link(hook.attachType)
      await this.#ensure(bpf, hook, isPinned)
    }
  }

  /** Some program runs, of this process or of one before it. */
  async areThere(bpf: Bpf): Promise<boolean> {
    return this.#hooks.some(({ link }) => link !== undefined) || (await bpf.pinned(this.#folder)).length > 0
  }

  /** What somebody else did. */
  async findDrift(bpf: Bpf): Promise<string | undefined> {
    const { cgroup } = this.#options
    const pinned = new Set(await bpf.pinned(this.#folder))
    for (const { attachType, link, program } of this.#hooks) {
      if (link === undefined || program === undefined) continue
      const state = await bpf.linkState(link)
      const attached = state === undefined ? [] : await attachedTo(bpf, cgroup, attachType)
      if (attached === undefined) return `the cgroup ${cgroup} is gone`
      if (!attached.some(({ id }) => id === state?.programId)) return `somebody detached the program at ${attachType}`
      if (state?.programId !== program.id) return `somebody put another program at ${attachType}`
      if (!pinned.has(attachType)) return `the pin of the program at ${attachType} is gone`
      this.#tellOfOthers(attachType, attached, program.id)
    }
    return undefined
  }

  [Symbol.dispose](): void {
    this.forgetPrograms()
    for (const hook of this.#hooks) {
      hook.link?.[Symbol.dispose]()
      hook.link = undefined
    }
  }

  get #folder(): string {
    return join(this.#options.folder, 'links')
  }

  async #ensure(bpf: Bpf, hook: Hook, isPinned: boolean): Promise<void> {
    const { attachType, program } = hook
    const path = join(this.#folder, attachType)
    if (program === undefined) return
    // Whatever else is pinned there makes way for the link.
    hook.link ??= isPinned ? await bpf.openLink(path).catch(undefinedIf('refused')) : undefined
    if (hook.link !== undefined && (await this.#replace(bpf, hook.link, attachType, program))) {
      if (!isPinned) await bpf.pin(hook.link, path)
      return
    }
    const old = hook.link
    hook.link = await bpf.attach(program, this.#options.cgroup)
    if (isPinned) await bpf.unpin(path)
    old?.[Symbol.dispose]()
    await bpf.pin(hook.link, path)
  }

  /** False: the link has no place any more, or one in another cgroup. */
  async #replace(bpf: Bpf, link: BpfLink, attachType: AttachType, program: BpfProgram): Promise<boolean> {
    const state = await bpf.linkState(link)
    if (state === undefined) return false
    const attached = await bpf.attached(this.#options.cgroup, attachType)
    if (!attached.some(({ id }) => id === state.programId)) {
      await bpf.detach(link)
      return false
    }
    if (state.programId === program.id) return true
    try {
      await bpf.replace(link, program)
      return true
    } catch (error) {
      if (!(error instanceof BpfError) || (error.reason !== 'gone' && error.reason !== 'refused')) throw error
      await bpf.detach(link)
      return false
    }
  }

  /** Whoever runs first hands over what it has made of the address. */
  #tellOfOthers(attachType: AttachType, inOrder: readonly AttachedProgram[], ownId: number): void {
    const ownPlace = inOrder.findIndex(({ id }) => id === ownId)
    for (const [place, { id, name }] of inOrder.entries()) {
      if (id === ownId || this.#toldIds.has(id)) continue
      this.#toldIds.add(id)
      this.#options.log.warn('another program runs at the same sockets', {
        at: attachType,
        program: name ?? id,
        runs: place < ownPlace ? 'before ours' : 'after ours',
      })
    }
  }
}

/** Undefined: there is no such cgroup. The kernel lets go of its links a moment later. */
async function attachedTo(
  bpf: Bpf,
  cgroup: string,
  attachType: AttachType,
): Promise<readonly AttachedProgram[] | undefined> {
  try {
    return await bpf.attached(cgroup, attachType)
  } catch (error) {
    if (error instanceof BpfError && error.reason === 'no-cgroup2') return undefined
    throw error
  }
}
