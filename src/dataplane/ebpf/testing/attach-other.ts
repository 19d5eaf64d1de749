/** A program of others, attached as programs were before there were links: it stays until its cgroup is removed. */
import { closeSync, openSync } from 'node:fs'
import { loadLibc } from '../../libc/load-libc.ts'
import { attachTypeNumber, BpfAttributes } from '../bpf-attributes.ts'
import type { AttachedProgram, AttachType, Bpf } from '../bpf.ts'
import type { KernelProgram } from '../kernel-handles.ts'
import { passingProgram } from './images.ts'

export interface OtherProgram {
  readonly name: string
  readonly attachType: AttachType
  readonly sharing: AttachedProgram['sharing']
}

/** `bpf` must be that of the kernel. */
export async function attachOther(
  bpf: Bpf,
  cgroup: string,
  { name, attachType, sharing }: OtherProgram,
): Promise<void> {
  // What is attached needs no handle.
  using program = await bpf.loadProgram(passingProgram(name, attachType), new Map())
  const folder = openSync(cgroup, 'r')
  const result = new BpfAttributes(await loadLibc(), 16)
    .u32(0, folder)
    .u32(4, (program as KernelProgram).fd)
    .u32(8, attachTypeNumber[attachType])
    .u32(12, sharingFlags[sharing])
    .call(attachWithoutLink)
  closeSync(folder)
  if (result < 0) throw new Error(`cannot attach a program of others: errno ${-result}`)
}

const attachWithoutLink = 8
const sharingFlags: Readonly<Record<AttachedProgram['sharing'], number>> = { exclusive: 0, overridable: 1, shared: 2 }
