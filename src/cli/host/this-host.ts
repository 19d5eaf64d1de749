/** The machine and the process that this program really runs on. */
import { lookup } from 'node:dns/promises'
import { readFile, writeFile } from 'node:fs/promises'
import { cpus, hostname, networkInterfaces, release } from 'node:os'
import { systemClock } from '../../core/clock.ts'
import type { HcnDriver } from '../../dataplane/hcn/driver.ts'
import type { Sockets } from '../../dataplane/sock-diag/sockets.ts'
import type { FileSysctlOptions } from '../../dataplane/sysctl/file-sysctl.ts'
import type { Sysctl } from '../../dataplane/sysctl/sysctl.ts'
import { ebpfObject, namespaceWorker } from '../../host/own-files.ts'
import { mountedFileFinder } from '../../host/mounted-file.ts'
import type { Host, HostProcess } from './host.ts'
import { hasIpv6, localAddressReader } from './local-addresses.ts'
import { mayChangeMachine } from './privileges.ts'
import { collectorOfIdleMoments, keepYoungHeapSmall } from './young-heap.ts'

/** Code that opens the kernel's doors is loaded when the first of them is opened: most commands never do. */
export function thisHost(): Host {
  const { platform, env } = process
  return {
    platform,
    env,
    process: thisProcess(platform, env),
    clock: systemClock,
    hostname,
    cpus: () => cpus().length,
    kernelRelease: release,
    hasIpv6: () => hasIpv6(platform),
    localAddresses: localAddressReader(platform, async () =>
      (await import('../../dataplane/addresses/own-ips.ts')).openOwnIps(),
    ),
    networkInterfaces,
    lookup: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
    processes: async () => (await import('../../host/processes.ts')).processesHere(),
    findFile: mountedFileFinder(platform, env),
    readTextFile: (path) => readFile(path, 'utf8'),
    writeTextFile: (path, text) => writeFile(path, text),
    exec: async (...call) => (await import('../../dataplane/exec/exec.ts')).processExec(...call),
    openNetlink: async (protocol) => (await loadNetlink()).openNetlink(protocol),
    openDatagrams: async (protocol) => (await loadNetlink()).openDatagrams(protocol),
    openRelay: async (options) => (await import('../../dataplane/relay/open-relay.ts')).openRelay(options),
    openLibc: async () =>
      platform === 'linux' ? (await import('../../dataplane/libc/load-libc.ts')).loadLibc() : undefined,
    openBpf: async () => (await import('../../dataplane/ebpf/open-bpf.ts')).openBpf(),
    readEbpfObject: async () => {
      const path = ebpfObject()
      return path === undefined ? undefined : readFile(path)
    },
    openPlaceFiles: async () => {
      const { libcForBpf } = await import('../../dataplane/ebpf/open-bpf.ts')
      return (await import('../../dataplane/ebpf/machine-files.ts')).machineFiles(await libcForBpf())
    },
    openSockets,
    openHcn: async () => openHcn(platform, env),
    sysctl: sysctlIn({ root: '/proc/sys' }),
    moduleParameters: sysctlIn({ root: '/sys/module' }),
  }
}

function thisProcess(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): HostProcess {
  const { pid, arch, version, stdout, stderr } = process
  return {
    pid,
    get isRoot() {
      return mayChangeMachine(platform, env)
    },
    architecture: arch,
    nodeVersion: version,
    streams: { stdout, stderr },
    logStreams: { stdout, stderr },
    settings: sysctlIn({ root: '/proc/self', needs: 'CAP_SYS_RESOURCE' }),
    uptimeMs: () => process.uptime() * 1000,
    monotonicNs: () => process.hrtime.bigint(),
    openFilesLimit: async () => (await import('../../dataplane/relay/descriptor-budget.ts')).openFilesLimit(),
    keepYoungHeapSmall,
    workDone: collectorOfIdleMoments(),
    // Unreferenced: it ends a process that would go on, and keeps none that is done.
    endWithin: (ms) => void setTimeout(() => process.exit(), ms).unref(),
  }
}

async function openHcn(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): Promise<HcnDriver> {
  const { HcnError } = await import('../../dataplane/hcn/hcn.ts')
  if (platform !== 'win32')
    throw new HcnError('missing', `there is no Host Compute Network on ${platform}; only Windows has one`)
  const { systemLibraries } = await import('../../dataplane/hcn/native-libraries.ts')
  const { openNativeDriver } = await import('../../dataplane/hcn/native-driver.ts')
  return openNativeDriver(systemLibraries(env))
}

async function openSockets(): Promise<Sockets> {
  const { NetlinkSockets } = await import('../../dataplane/sock-diag/netlink-sockets.ts')
  const { libcForBpf } = await import('../../dataplane/ebpf/open-bpf.ts')
  const program = namespaceWorker()
  if (program === undefined) throw new Error('the thread that enters network namespaces is not built: npm run build')
  return new NetlinkSockets({ libc: await libcForBpf(), program })
}

function loadNetlink() {
  return import('../../dataplane/netlink/open-netlink.ts')
}

function sysctlIn(options: FileSysctlOptions): Sysctl {
  const open = async () => (await import('../../dataplane/sysctl/file-sysctl.ts')).fileSysctl(options)
  return {
    read: async (path) => (await open()).read(path),
    write: async (path, value) => (await open()).write(path, value),
  }
}
