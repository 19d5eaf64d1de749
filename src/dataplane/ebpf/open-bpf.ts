/** Opens the door to the kernel of this machine. */
import { endianness } from 'node:os'
import { loadLibc } from '../libc/load-libc.ts'
import type { Libc } from '../libc/load-libc.ts'
import { BpfError } from './bpf-error.ts'
import type { Bpf } from './bpf.ts'
import { KernelBpf } from './kernel-bpf.ts'

/** Rejects with reason `unsupported` where bpf(2) cannot be called at all. */
export async function openBpf(): Promise<Bpf> {
  return new KernelBpf(await libcForBpf())
}

export async function libcForBpf(): Promise<Libc> {
  const tried = 'cannot use eBPF'
  if (process.platform !== 'linux') throw new BpfError('unsupported', `${tried}: only Linux has it`)
  if (endianness() !== 'LE')
    throw new BpfError('unsupported', `${tried}: Fairlead supports it on little-endian machines only`)
  try {
    return await loadLibc()
  } catch (cause) {
    const machine = `${process.platform}-${process.arch}`
    throw new BpfError('unsupported', `${tried}: the package koffi does not load on ${machine}`, { cause })
  }
}
