/**
 * The interface to the kernel's programs and maps. Each implementation passes `bpf.contract.ts`.
 *
 * An object (map, program, link) lives while somebody holds it: a handle of a process, a pin, or another object that
 * uses it. A process that ends lets go of its handles, and of no pin.
 */
import type { PackedEntries } from './packed-entries.ts'
import type { ProgramImage } from './program-image.ts'

/** Where a program runs: at this call of every socket of a cgroup and the cgroups below it. */
export const attachTypes = [
  'connect4',
  'connect6',
  'sendmsg4',
  'sendmsg6',
  'recvmsg4',
  'recvmsg6',
  'getpeername4',
  'getpeername6',
] as const

export type AttachType = (typeof attachTypes)[number]

/** `socket-storage`: a value in the memory of each socket, which ends with the socket. Only programs read and write it. */
export type MapType = 'hash' | 'array' | 'socket-storage'

export interface MapSpec {
  /** What others see, as in `bpftool map`. The kernel keeps 15 characters of it. */
  readonly name: string
  readonly type: MapType
  /** 4 for arrays and socket storage. */
  readonly keySize: number
  /** A multiple of 8 for arrays, so that element i is at i · valueSize. */
  readonly valueSize: number
  /** 0 for socket storage. */
  readonly maxEntries: number
}

export interface PackedPart extends PackedEntries {
  /** Undefined: it is the last one. */
  readonly next: Uint8Array | undefined
}

export type MapEntry = readonly [key: Uint8Array, value: Uint8Array]

/** What is asked of an array fails for another type, and the other way round (`refused`). */
export interface BpfMap extends Disposable {
  readonly spec: MapSpec
  /** Of a hash, in no particular order. Changes made while it reads may be missing. */
  entries(): Promise<readonly MapEntry[]>
  /** The same, one after the other in two pieces of memory. */
  packedEntries(): Promise<PackedEntries>
  /** The same part by part: the first one, or the one at `next`. What is added or deleted meanwhile may come twice, or hide others. */
  packedPart(at?: Uint8Array): Promise<PackedPart>
  /** Of a hash: the value of each of these keys, in their order. Undefined: there is no such key. */
  lookup(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]>
  /**
   * Of a hash: adds or replaces them in this order. Not all at once: a program may see some before others.
   * The error `full` says in `done` how many there was room for; these stay.
   */
  update(entries: readonly MapEntry[] | PackedEntries): Promise<void>
  /** Of a hash. Those that are gone already do not matter. */
  delete(keys: readonly Uint8Array[]): Promise<void>
  /** All elements of an array: the memory that programs see, to be read. Empty once the map is let go of. */
  readonly bytes: Uint8Array
  /** Of an array: in no particular order, so for what no program looks at yet. */
  fill(offset: number, bytes: Uint8Array): Promise<void>
  /**
   * Of an array: 8 aligned bytes, little-endian. A program sees the old word or the new one, never a mixture; and if it
   * sees the new one, it sees everything that was filled or stored before.
   */
  store(offset: number, word: bigint): Promise<void>
}

export interface BpfProgram extends Disposable {
  readonly image: ProgramImage
  /** The kernel's number for it, as in `LinkState` and `AttachedProgram`. */
  readonly id: number
}

/** A program at its place. Without a pin, the program is taken away when the last handle goes. */
export interface BpfLink extends Disposable {
  readonly attachType: AttachType
}

export interface LinkState {
  readonly programId: number
  /** The inode of the cgroup's folder. */
  readonly cgroupId: bigint
}

export interface AttachedProgram {
  readonly id: number
  /** Missing if the kernel does not tell it to this process: that needs CAP_SYS_ADMIN. */
  readonly name: string | undefined
  /** `exclusive` and `overridable` ones leave no room for a link beside them. */
  readonly sharing: 'shared' | 'overridable' | 'exclusive'
}

/** Every method rejects with a BpfError. */
export interface Bpf {
  createMap(spec: MapSpec): Promise<BpfMap>
  /** `maps` by the names that the image has for them. Loading is no attaching: nothing runs yet. */
  loadProgram(image: ProgramImage, maps: ReadonlyMap<string, BpfMap>): Promise<BpfProgram>
  /** `cgroup` is a folder of cgroup v2. Programs of others stay and run, too. */
  attach(program: BpfProgram, cgroup: string): Promise<BpfLink>
  /** Puts another program in the place of the present one, without a gap. `gone`: there is no place any more, attach anew. */
  replace(link: BpfLink, program: BpfProgram): Promise<void>
  /** At once, whoever holds the link. It stays as an object without a place. */
  detach(link: BpfLink): Promise<void>
  /** Makes the folders that are missing. Names may have no dot. */
  pin(object: BpfMap | BpfLink, path: string): Promise<void>
  /** A pin, or a folder with all that is in it. What is gone already does not matter. */
  unpin(path: string): Promise<void>
  /** Sorted paths of all pins in the folder and below, relative to it. None if there is no such folder. */
  pinned(folder: string): Promise<readonly string[]>
  /** Nothing if there is no such pin. */
  openMap(path: string): Promise<BpfMap | undefined>
  openLink(path: string): Promise<BpfLink | undefined>
  /** Nothing if it has no place any more: it was detached, or its cgroup is gone. */
  linkState(link: BpfLink): Promise<LinkState | undefined>
  /** The programs that were attached to this cgroup itself, in the order in which they run. */
  attached(cgroup: string, attachType: AttachType): Promise<readonly AttachedProgram[]>
  /** Runs an iterator over the values of all sockets of all network namespaces. It reports through its maps. */
  iterate(program: BpfProgram, map: BpfMap): Promise<void>
  /** Whether many entries are one call. They are changed one by one otherwise. */
  hasBatches(): Promise<boolean>
  /** Resolves when every program that is running now has ended: none still reads what was unlinked before. */
  fence(): Promise<void>
}
