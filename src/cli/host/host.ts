/**
 * Everything that the daemon, its modes and the other commands use of the machine and of the process they run in. main.ts
 * makes the real one and hands it in. With another one (`testing/memory-host.ts`) a test sees what a mode asks for, and
 * the machine stays as it is.
 *
 * It stands here, not in src/host, because its types come from core and dataplane, and src/host may import
 * nothing. The folders below cli never see it: each part takes the single member that it needs, an `Exec` or a `Clock`.
 *
 * Not in it: files that the user names (objects, saved state, kubeconfig, certificates). `src/sources` and `src/kpng`
 * read those from disk, and their tests use real folders.
 */
import type { NetworkInterfaceInfo } from 'node:os'
import type { Writable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import type { PlaceFiles } from '../../dataplane/ebpf/places.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import type { HcnDriver } from '../../dataplane/hcn/driver.ts'
import type { Libc } from '../../dataplane/libc/load-libc.ts'
import type { OpenDatagrams, OpenNetlink } from '../../dataplane/netlink/open-netlink.ts'
import type { OpenRelayOptions } from '../../dataplane/relay/open-relay.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import type { Sockets } from '../../dataplane/sock-diag/sockets.ts'
import type { Sysctl } from '../../dataplane/sysctl/sysctl.ts'
import type { FindFile } from '../../host/mounted-file.ts'
import type { RunningProcess } from '../../host/processes.ts'

export interface Host {
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
  readonly process: HostProcess
  readonly clock: Clock

  hostname(): string
  /** Logical CPUs of the machine, not those this process may use. */
  cpus(): number
  /** `6.1.0-18-amd64` */
  kernelRelease(): string

  hasIpv6(): boolean
  /** Those that the machine has now; they come and go. */
  localAddresses(): readonly string[]
  networkInterfaces(): Interfaces
  /** All addresses of a name; rejects as the resolver does. */
  lookup(name: string): Promise<readonly string[]>

  /** Those that share this process' network and can be seen. Linux only; elsewhere it rejects. */
  processes(): Promise<readonly RunningProcess[]>

  /** Where a file of the user is: at its path, unless this is a HostProcess container of Windows. */
  readonly findFile: FindFile
  readTextFile(path: string): Promise<string>
  writeTextFile(path: string, text: string): Promise<void>

  readonly exec: Exec
  readonly openNetlink: OpenNetlink
  readonly openDatagrams: OpenDatagrams
  /** Carries connections in user space. */
  readonly openRelay: (options: OpenRelayOptions) => Promise<Relay>
  /** The C library; undefined: not on this system. Rejects where it cannot be called. */
  openLibc(): Promise<Libc | undefined>
  /** Programs and maps of the kernel. Rejects with a BpfError where there are none. */
  openBpf(): Promise<Bpf>
  /** The programs of the ebpf mode, as the compiler wrote them. Undefined: they were not built. */
  readEbpfObject(): Promise<Uint8Array | undefined>
  /** Where programs are attached and pinned. */
  openPlaceFiles(): Promise<PlaceFiles>
  /** Those of all programs, in all network namespaces. Rejects with a BpfError or SocketsError. */
  openSockets(): Promise<Sockets>
  /** The Host Compute Network of Windows. */
  openHcn(): Promise<HcnDriver>
  /** /proc/sys */
  readonly sysctl: Sysctl
  /** /sys/module */
  readonly moduleParameters: Sysctl
}

export interface HostProcess {
  readonly pid: number
  /** root, or on Windows an administrator */
  readonly isRoot: boolean
  /** `x64` */
  readonly architecture: string
  /** `v20.19.0` */
  readonly nodeVersion: string
  readonly streams: { readonly stdout: OutputStream; readonly stderr: OutputStream }
  /** Where the log goes: the same, or a file. */
  readonly logStreams: { readonly stdout: Writable; readonly stderr: Writable }
  /** /proc/self */
  readonly settings: Sysctl
  uptimeMs(): number
  /** CLOCK_MONOTONIC, which programs in the kernel read, too. */
  monotonicNs(): bigint
  openFilesLimit(): Promise<number>
  /** For a process that lives long and is mostly idle. */
  keepYoungHeapSmall(): void
  /** After each piece of work: if none follows at once, what it left in memory is collected before somebody waits for it. */
  readonly workDone: () => void
  /** For the end: what still waits for something after this time, and cannot be called off, is left behind. */
  endWithin(ms: number): void
}

/** `columns` changes with the window of the terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }

export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>
