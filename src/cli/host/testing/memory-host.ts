/** A machine that is not there: it has what a test gives it, writes down what it is asked, and refuses as a real one does. */
import { Writable } from 'node:stream'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { BpfError } from '../../../dataplane/ebpf/bpf-error.ts'
import { HcnError } from '../../../dataplane/hcn/hcn.ts'
import { scriptedExec } from '../../../dataplane/iptables/testing/scripted-exec.ts'
import { NetlinkError } from '../../../dataplane/netlink/netlink-error.ts'
import { MemorySockets } from '../../../dataplane/sock-diag/memory-sockets.ts'
import { MemorySysctl } from '../../../dataplane/sysctl/memory-sysctl.ts'
import { unwatched } from '../../program.ts'
import type { Program } from '../../program.ts'
import type { Host, HostProcess, OutputStream } from '../host.ts'

export interface MemoryHostOptions extends Partial<Omit<Host, 'process' | 'sysctl'>> {
  readonly process?: Partial<HostProcess>
  readonly sysctl?: MemorySysctl
  readonly files?: Readonly<Record<string, string>>
}

export interface MemoryHost extends Host {
  readonly sysctl: MemorySysctl
  readonly textByPath: ReadonlyMap<string, string>
  /** Every program that was run, with its arguments: none of them is installed. */
  readonly commands: readonly string[]
  /** All that went to the streams of the process. */
  readonly logged: () => string
}

/** Linux without any tool, without netlink, with loopback as its only network and without any setting of the kernel. */
export function memoryHost(options: MemoryHostOptions = {}): MemoryHost {
  const { files = {}, process, ...given } = options
  const textByPath = new Map(Object.entries(files))
  const { exec, commands } = scriptedExec(() => undefined)
  const noNetlink = () => Promise.reject(new NetlinkError('unsupported', 'there is no netlink in memory'))
  const lines: string[] = []
  const stream = memoryStream(lines)
  return {
    platform: 'linux',
    env: {},
    clock: new FakeClock(),
    hostname: () => 'memory',
    cpus: () => 2,
    kernelRelease: () => '6.1.0',
    hasIpv6: () => true,
    localAddresses: () => ['127.0.0.1', '::1'],
    networkInterfaces: () => ({}),
    lookup: (name) => Promise.reject(new Error(`getaddrinfo ENOTFOUND ${name}`)),
    processes: () => Promise.resolve([]),
    findFile: (path) => path,
    readTextFile: async (path) => textByPath.get(path) ?? (await missing(path)),
    writeTextFile: async (path, text) => void textByPath.set(path, text),
    exec,
    openNetlink: noNetlink,
    openDatagrams: noNetlink,
    openRelay: () => Promise.reject(new Error('there is no relay in memory')),
    // Its sockets would be those of the real machine.
    openLibc: () => Promise.resolve(undefined),
    openBpf: () => Promise.reject(new BpfError('unsupported', 'there is no bpf(2) in memory')),
    openPlaceFiles: () => Promise.reject(new BpfError('no-cgroup2', 'there are no cgroups in memory')),
    openSockets: () => Promise.resolve(new MemorySockets()),
    readEbpfObject: () => Promise.resolve(undefined),
    openHcn: () => Promise.reject(new HcnError('missing', 'there is no Host Compute Network in memory')),
    moduleParameters: new MemorySysctl({}),
    ...given,
    sysctl: given.sysctl ?? new MemorySysctl({}),
    process: {
      pid: 1,
      isRoot: true,
      architecture: 'x64',
      nodeVersion: 'v20.0.0',
      streams: { stdout: stream, stderr: stream },
      logStreams: { stdout: stream, stderr: stream },
      settings: new MemorySysctl({ oom_score_adj: '0' }),
      uptimeMs: () => 0,
      monotonicNs: () => 0n,
      openFilesLimit: () => Promise.resolve(1024),
      keepYoungHeapSmall() {},
      workDone() {},
      endWithin() {},
      ...process,
    },
    textByPath,
    commands,
    logged: () => lines.join(''),
  }
}

export interface MemoryProgram extends Program {
  readonly host: MemoryHost
  /** What the caller of the command reads on both streams. */
  readonly printed: () => string
}

export function memoryProgram(host: MemoryHost = memoryHost()): MemoryProgram {
  const texts: string[] = []
  const print = (text: string) => void texts.push(text)
  return { ...unwatched, host, out: print, err: print, printed: () => texts.join('') }
}

function memoryStream(lines: string[]): OutputStream {
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      lines.push(line)
      done()
    },
  })
}

function missing(path: string): Promise<never> {
  return Promise.reject(
    Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' }),
  )
}
