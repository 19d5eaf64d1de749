/** What the kernel and binutils say about a process and its program. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface ThreadStatus {
  readonly inheritable: bigint
  readonly permitted: bigint
  readonly effective: bigint
  readonly bounds: bigint
  readonly ambient: bigint
  readonly noNewPrivileges: string | undefined
  /** 2: there is a filter. */
  readonly seccomp: string | undefined
}

export function statusesOf(pid = 0): readonly ThreadStatus[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1]
    const set = (name: string) => BigInt(`0x${field(name) ?? ''}`)
    return {
      inheritable: set('CapInh'),
      permitted: set('CapPrm'),
      effective: set('CapEff'),
      bounds: set('CapBnd'),
      ambient: set('CapAmb'),
      noNewPrivileges: field('NoNewPrivs'),
      seccomp: field('Seccomp'),
    }
  })
}

/** From linux/capability.h. */
const bits = { SETPCAP: 8n, NET_BIND_SERVICE: 10n, NET_RAW: 13n }

export function capabilities(...names: readonly (keyof typeof bits)[]): bigint {
  return names.reduce((set, name) => set | (1n << bits[name]), 0n)
}

/** What each open descriptor leads to. */
export function descriptorsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
}

export function elfOf(program: string) {
  const read = (option: string) => spawnSync('readelf', [option, '-W', program], { encoding: 'utf8' }).stdout
  if (spawnSync('readelf', ['--version']).error !== undefined) return undefined
  return { header: read('-h'), segments: read('-l'), dynamic: read('-d'), symbols: read('-s') }
}
