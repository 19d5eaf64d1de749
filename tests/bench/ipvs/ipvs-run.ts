/** One life of a proxy in its ipvs mode, inside a guest: the first sync, then endpoints changed one by one. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { chooseVariant } from '../../packet/testing/iptables-variant.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { serviceAddress } from '../core/cluster-objects.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { NetlinkTap } from './netlink-tap.ts'
import { requestsElsewhere, tallyNetlink } from './netlink-tally.ts'
import type { NetlinkTally } from './netlink-tally.ts'

export interface IpvsCase {
  readonly program: ProxyProgram
  readonly services: number
  /** How many endpoints change, one after the other. */
  readonly changes: number
}

export interface IpvsRun {
  readonly first: SyncCost
  readonly changes: readonly ChangeCost[]
  readonly residentMb: number
  readonly peakMb: number
}

export interface SyncCost {
  /** As the proxy itself measures it. */
  readonly syncMs: number
  /** From the last event until the sync has ended. */
  readonly latencyMs: number
  /** Of the proxy and of the programs that it ran. */
  readonly cpuMs: number
  readonly messages: NetlinkTally
  /** Processes and threads that began. */
  readonly started: number
}

export interface ChangeCost extends SyncCost {
  /** Requests to IPVS that do not speak of the Service that changed. */
  readonly requestsElsewhere: number
}

/** A prime: changes meet Services all over the cluster. */
const stride = 7919
const calmMs = 3000

export async function runIpvs({ program, services, changes }: IpvsCase): Promise<IpvsRun> {
  using namespace = Namespace.make()
  namespace.ip('link add name node type dummy', 'address add 192.0.2.10/24 dev node', 'link set node up')
  // The only one that the guest's kernel has.
  chooseVariant(namespace, 'legacy')
  using tap = new NetlinkTap(namespace)
  const startedBefore = startedSoFar()
  await using daemon = await ProxyDaemon.start({
    program,
    mode: 'ipvs',
    services,
    namespace,
    // Nobody shall wait for the end of a pause, and nothing happens without a change.
    flags: ['--ipvs-min-sync-period=1ms', '--ipvs-sync-period=1h'],
  })
  const first = await daemon.when(({ all }) => all.count > 0)
  const { ownCpuMs, toolsCpuMs } = await daemon.cost()
  const firstCost = {
    syncMs: first.all.ms / first.all.count,
    latencyMs: first.syncedAtMs - daemon.lastByteAtMs,
    cpuMs: ownCpuMs + toolsCpuMs,
    messages: tallyNetlink(tap.take()),
    started: startedSoFar() - startedBefore,
  }
  const costs: ChangeCost[] = []
  for (let change = 0; change < changes; change++) {
    await isCalm(daemon, tap)
    costs.push(await changeOnce(daemon, tap, plainService((change + 1) * stride, services)))
  }
  mustHaveArrived(namespace, serviceAddress(plainService(changes * stride, services)))
  const { residentMb, peakMb } = await daemon.cost()
  return { first: firstCost, changes: costs, residentMb, peakMb }
}

async function changeOnce(daemon: ProxyDaemon, tap: NetlinkTap, service: number): Promise<ChangeCost> {
  const before = await daemon.when(() => true)
  const costBefore = await daemon.cost()
  const startedBefore = startedSoFar()
  const changedAtMs = (await daemon.changeEndpoints(1, service)) + Date.now() - sharedClockMs()
  const after = await daemon.when(({ all }) => all.count > before.all.count)
  const messages = tap.take()
  const cost = await daemon.cost()
  return {
    syncMs: (after.all.ms - before.all.ms) / (after.all.count - before.all.count),
    latencyMs: after.syncedAtMs - changedAtMs,
    cpuMs: cost.ownCpuMs + cost.toolsCpuMs - costBefore.ownCpuMs - costBefore.toolsCpuMs,
    messages: tallyNetlink(messages),
    requestsElsewhere: requestsElsewhere(messages, serviceAddress(service)),
    started: startedSoFar() - startedBefore,
  }
}

/** Resolves when for a while no sync has ended and nobody has spoken with the kernel, not even to look after it. */
async function isCalm(daemon: ProxyDaemon, tap: NetlinkTap): Promise<void> {
  for (let before = -1; ;) {
    const { all } = await daemon.when(() => true)
    const isQuiet = tap.take().length === 0
    if (isQuiet && all.count === before) return
    before = all.count
    await sleep(calmMs)
  }
}

/** One that has a cluster IP and no other door. */
function plainService(number: number, services: number): number {
  const index = number % services
  return index % 10 === 0 ? index + 1 : index
}

/** Since the guest began. */
function startedSoFar(): number {
  return Number(/^processes (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1])
}

/** Pods that replace others have addresses of their own. */
function mustHaveArrived(namespace: Namespace, clusterIP: string): void {
  const listed = namespace.run('ipvsadm', ['-L', '-n', '-t', `${clusterIP}:80`])
  if (!listed.includes('-> 11.0.')) throw new Error(`the last change is not in the kernel:\n${listed}`)
}
