/** Where a test may use the kernel's eBPF: cgroups and a BPF file system of its own. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AttachedProgram, AttachType, Bpf } from '../bpf.ts'
import { openBpf } from '../open-bpf.ts'
import { attachOther } from './attach-other.ts'
import { passingProgram } from './images.ts'

/** Why tests that need the kernel's eBPF cannot run here, if they cannot. */
export async function missingForBpf(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'only Linux has eBPF'
  if (process.getuid?.() !== 0) return 'not root'
  if (cgroup2Mount() === undefined) return 'no cgroup v2 is mounted'
  try {
    const bpf = await openBpf()
    using _program = await bpf.loadProgram(passingProgram('fl_test_probe', 'connect4'), new Map())
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** A cgroup below the root, and a BPF file system, for one test file. */
export class KernelSite implements Disposable {
  readonly bpf: Bpf
  /** A BPF file system. */
  readonly bpffs: string
  /** Neither a cgroup nor in a BPF file system. */
  readonly plainFolder: string
  readonly #cgroups: string[] = []

  private constructor(bpf: Bpf) {
    this.bpf = bpf
    this.plainFolder = mkdtempSync(join(tmpdir(), 'fairlead-test-bpf-'))
    this.bpffs = join(this.plainFolder, 'bpffs')
    mkdirSync(this.bpffs)
    execFileSync('mount', ['-t', 'bpf', 'bpf', this.bpffs])
  }

  static async open(): Promise<KernelSite> {
    return new KernelSite(await openBpf())
  }

  /** Never the root: only processes that are put into it are concerned. */
  makeCgroup(name: string): string {
    const path = join(cgroup2Mount() ?? '', `fairlead-test-${process.pid}-${name}`)
    mkdirSync(path)
    this.#cgroups.push(path)
    return path
  }

  makeCgroupBelow(cgroup: string, name: string): string {
    const path = join(cgroup, name)
    mkdirSync(path)
    this.#cgroups.push(path)
    return path
  }

  removeCgroup(path: string): void {
    rmdirSync(path)
    this.#cgroups.splice(this.#cgroups.indexOf(path), 1)
  }

  /** As programs did before there were links. It stays until the cgroup is removed. */
  async attachOther(cgroup: string, attachType: AttachType, sharing: AttachedProgram['sharing']): Promise<string> {
    const name = 'fl_test_other'
    await attachOther(this.bpf, cgroup, { name, attachType, sharing })
    return name
  }

  [Symbol.dispose](): void {
    execFileSync('umount', [this.bpffs])
    rmSync(this.plainFolder, { recursive: true })
    for (const cgroup of this.#cgroups.toReversed()) removeOnceEmpty(cgroup)
  }
}

/** Processes that are ending are still in it for a moment. */
function removeOnceEmpty(cgroup: string): void {
  const mostMs = 10_000
  const end = performance.now() + mostMs
  for (;;) {
    try {
      rmdirSync(cgroup)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || performance.now() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

/** The first mounted cgroup v2. */
function cgroup2Mount(): string | undefined {
  const line = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((mount) => mount.includes(' - cgroup2 '))
  return line?.split(' ')[4]
}
