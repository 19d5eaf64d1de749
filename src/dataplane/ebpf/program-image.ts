/** A program as the compiler wrote it: equal on every machine, and not loaded yet. */
import type { AttachType } from './bpf.ts'

export interface ProgramImage {
  readonly name: string
  /** Where it was in the object, such as `cgroup/connect4`. */
  readonly section: string
  /** `iterator`: it is attached nowhere, but run over the values of a socket storage. */
  readonly attachType: AttachType | 'iterator'
  readonly license: string
  readonly instructions: Uint8Array
  /** The instructions that load the address of a map. */
  readonly mapLoads: readonly MapLoad[]
  /** In the order of the instructions. Empty if the object does not tell. */
  readonly sourceLines: readonly SourceLine[]
}

export interface MapLoad {
  /** In bytes. */
  readonly offset: number
  readonly map: string
}

/** From this instruction on, up to the next one that is listed. */
export interface SourceLine {
  readonly instruction: number
  readonly file: string
  readonly line: number
}

/** What the object says about a map. Its user may choose another size. */
export interface DeclaredMap {
  readonly name: string
  readonly type: number
  readonly keySize: number
  readonly valueSize: number
  readonly maxEntries: number
  readonly flags: number
}

export interface BpfObject {
  readonly programs: readonly ProgramImage[]
  readonly maps: readonly DeclaredMap[]
}
