/** One life of a proxy: the first sync, then endpoints that change one by one, from the event to the effect. */
import { setTimeout as sleep } from 'node:timers/promises'
import { EbpfPlace } from '../../packet/testing/fairlead-ebpf.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { CommitWatch } from '../nftables/commit-watch.ts'
import { Lookout } from '../real-time.ts'
import { SocketWatch } from './socket-watch.ts'

export interface DaemonCase {
  readonly program: ProxyProgram
  readonly mode: 'ebpf' | 'nftables'
  readonly services: number
  readonly changes: number
}

export interface DaemonRun {
  /** From the last byte of the objects until all is in the kernel, and until local clients are served by it. */
  readonly fromLastByteMs: number
  readonly socketsFromLastByteMs: number | undefined
  /** Of the proxy and its programs until then. */
  readonly startCpuMs: number
  /** From the API server's write until the kernel has it, of each change. */
  readonly packetsMs: readonly number[]
  readonly socketsMs: readonly number[]
  /** Of the proxy and its programs, for one change. */
  readonly cpuPerChangeMs: number
  readonly residentMb: number
}

export const warmUps = 20
/** Between changes, so that each is a sync of its own. */
export const pauseMs = 20
/** With many Services on a busy machine, reading the tables again and again may look like work. */
const longestSettlingMs = 10_000
/** A prime: changes meet Services of all kinds, all over the tables. */
const stride = 7919

export async function runDaemon({ program, mode, services, changes }: DaemonCase): Promise<DaemonRun> {
  using namespace = Namespace.make()
  await using place = mode === 'ebpf' ? new EbpfPlace() : undefined
  const places = place === undefined ? [] : [`--ebpf-cgroup=${place.cgroup.path}`, `--ebpf-pins=${place.pins}`]
  await using daemon = await ProxyDaemon.start({
    program,
    mode,
    services,
    namespace,
    // Nobody shall wait for the end of a pause.
    flags: ['--iptables-min-sync-period=1ms', ...places],
  })
  const attached = place && SocketWatch.attachedAt(place.pins)
  const first = await Promise.race([daemon.when(({ full }) => full.count > 0), failureOf(attached)])
  const socketsAtMs = attached && inUnixTime(await attached)
  const atFirst = await daemon.cost()
  await daemon.settles(longestSettlingMs)

  await using commits = await CommitWatch.start(namespace)
  using sockets = place && (await SocketWatch.open(place.pins))
  using _lookout = new Lookout()
  const changeOnce = async (change: number) => {
    const index = (change * stride) % services
    const begin = () => daemon.changeEndpoints(1, index)
    const [socketsAt, begun] = sockets === undefined ? [undefined, begin()] : await sockets.changedAt(index, begin)
    const changedAtMs = await begun
    const packetsMs = (await commits.firstAfter(changedAtMs)) - changedAtMs
    await sleep(pauseMs)
    return { packetsMs, socketsMs: socketsAt === undefined ? [] : [socketsAt - changedAtMs] }
  }
  const warm = Math.min(warmUps, changes)
  for (let change = 0; change < warm; change++) await changeOnce(change)
  const before = await daemon.cost()
  const changed: Awaited<ReturnType<typeof changeOnce>>[] = []
  for (let change = 0; change < changes; change++) changed.push(await changeOnce(warm + change))
  const after = await daemon.cost()
  return {
    fromLastByteMs: first.syncedAtMs - daemon.lastByteAtMs,
    socketsFromLastByteMs: socketsAtMs && socketsAtMs - daemon.lastByteAtMs,
    startCpuMs: atFirst.ownCpuMs + atFirst.toolsCpuMs,
    packetsMs: changed.map(({ packetsMs }) => packetsMs),
    socketsMs: changed.flatMap(({ socketsMs }) => socketsMs),
    cpuPerChangeMs: (after.ownCpuMs + after.toolsCpuMs - before.ownCpuMs - before.toolsCpuMs) / changes,
    residentMb: after.residentMb,
  }
}

/** Never resolves: whoever waits for something else learns that it failed. */
async function failureOf(work: Promise<unknown> | undefined): Promise<never> {
  await work
  return new Promise(() => {})
}

function inUnixTime(sharedMs: number): number {
  return sharedMs + Date.now() - sharedClockMs()
}
