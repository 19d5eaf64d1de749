/** Loads a program: fills in the maps, asks the kernel, and finds out why it refuses. */
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Libc } from '../libc/load-libc.ts'
import { attachTypeNumber, BpfAttributes, bpfCommand, programTypeNumber } from './bpf-attributes.ts'
import { BpfError, bpfErrorFrom } from './bpf-error.ts'
import type { BpfMap } from './bpf.ts'
import { functionId } from './btf.ts'
import type { KernelMap } from './kernel-map.ts'
import type { ProgramImage } from './program-image.ts'
import { mapsOf } from './program-rules.ts'
import { rejection } from './verifier-log.ts'

const { EAGAIN, EINVAL, EACCES, E2BIG } = constants.errno

/** Returns a descriptor. */
export function loadProgram(libc: Libc, image: ProgramImage, maps: ReadonlyMap<string, BpfMap>): number {
  const instructions = linked(image, maps)
  const kernelFunction = image.attachType === 'iterator' ? iteratorFunction(image) : 0
  const first = load(libc, image, instructions, kernelFunction)
  if (first >= 0) return first
  const doing = `load the program "${image.name}"`
  if (first === -EINVAL && load(libc, image, trivialProgram, kernelFunction) === -EINVAL)
    throw new BpfError('unsupported', `cannot ${doing}: this kernel has no hook ${image.attachType} (EINVAL)`)
  if (first !== -EINVAL && first !== -EACCES && first !== -E2BIG) throw bpfErrorFrom(-first, 'load-program', doing)
  const log = Buffer.alloc(logBytes)
  const again = load(libc, image, instructions, kernelFunction, log)
  if (again >= 0) return again
  throw rejection(image, log.toString('utf8', 0, log.indexOf(0)), -again)
}

/** Enough for the whole log: before Linux 6.4 the kernel drops its end, which says what is wrong. */
const logBytes = 16 << 20
/** The kernel says EAGAIN when a signal came. */
const mostTries = 5
/** `r0 = 1; exit`. The kernel takes it for every hook that it has. */
const trivialProgram = Buffer.from('b7000000010000009500000000000000', 'hex')

function load(libc: Libc, image: ProgramImage, instructions: Buffer, kernelFunction: number, log?: Buffer): number {
  const attributes = new BpfAttributes(libc, 120)
    .u32(0, image.attachType === 'iterator' ? programTypeNumber.iterator : programTypeNumber.hook)
    .u32(4, instructions.length / 8)
    .pointer(8, instructions)
    .pointer(16, Buffer.from(`${image.license}\0`))
    .name(48, image.name)
    .u32(68, attachTypeNumber[image.attachType])
    .u32(108, kernelFunction)
  if (log !== undefined) attributes.u32(24, 1).u32(28, log.length).pointer(32, log)
  let result = -EAGAIN
  for (let tries = 0; tries < mostTries && result === -EAGAIN; tries++) result = attributes.call(bpfCommand.loadProgram)
  return result
}

/** The instructions with the descriptors of the maps in the places where their addresses belong. */
function linked(image: ProgramImage, maps: ReadonlyMap<string, BpfMap>): Buffer {
  const used = mapsOf(image, maps)
  const instructions = Buffer.from(image.instructions)
  const mapDescriptor = 0x10
  for (const { offset, map } of image.mapLoads) {
    instructions.writeUInt8((instructions.readUInt8(offset + 1) & 0x0f) | mapDescriptor, offset + 1)
    instructions.writeInt32LE((used.get(map) as KernelMap).fd, offset + 4)
  }
  return instructions
}

const kernelTypes = '/sys/kernel/btf/vmlinux'

/** The number of the function whose arguments the iterator gets. */
function iteratorFunction({ name }: ProgramImage): number {
  const tried = `cannot load the program "${name}"`
  let id: number | undefined
  try {
    id = functionId(readFileSync(kernelTypes), 'bpf_iter_bpf_sk_storage_map')
  } catch (cause) {
    const hint = `${kernelTypes} cannot be read; the kernel needs CONFIG_DEBUG_INFO_BTF`
    throw new BpfError('unsupported', `${tried}: ${hint}`, { cause })
  }
  if (id === undefined) throw new BpfError('unsupported', `${tried}: this kernel cannot list the storage of sockets`)
  return id
}
