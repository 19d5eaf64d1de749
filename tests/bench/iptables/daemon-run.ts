/** One life of a proxy: start, first sync, a few changes, and a while of nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Namespace } from '../../packet/testing/namespace.ts'
import { IptablesTools } from './iptables-tools.ts'
import type { ToolKind } from './iptables-tools.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'

export interface DaemonCase {
  readonly program: ProxyProgram
  readonly services: number
  readonly tools: ToolKind
  /** How many times one endpoint changes. */
  readonly changes: number
  /** How long nothing happens, to see what that costs. */
  readonly idleMs: number
}

export interface DaemonRun {
  /** As the proxy itself measures it. */
  readonly firstSyncMs: number
  /** From the start of the process until everything is in place. */
  readonly startMs: number
  /** Until then, of the proxy and of the tools that it ran. */
  readonly startCpuMs: { readonly own: number; readonly tools: number }
  readonly changes: readonly ChangeRun[]
  /** Of one core. */
  readonly idleShare: { readonly own: number; readonly tools: number }
  readonly residentMb: number
  readonly peakMb: number
  /** What each restore was sent, when the tools count it. */
  readonly restoredBytes: readonly number[]
}

export interface ChangeRun {
  /** The sync, as the proxy itself measures it. */
  readonly syncMs: number
  /** From the API server's event until the rules are in place. */
  readonly latencyMs: number
  readonly ownCpuMs: number
  readonly toolsCpuMs: number
}

/** More than kube-proxy's pause between syncs, so that no change waits for it. */
const pauseMs = 1500

export async function runDaemon({ program, services, tools: kind, changes, idleMs }: DaemonCase): Promise<DaemonRun> {
  using namespace = Namespace.make()
  await using tools = await IptablesTools.make(kind)
  tools.markVariant(namespace)
  await using daemon = await ProxyDaemon.start({ program, mode: 'iptables', services, namespace, path: tools.path })
  const first = await daemon.when(({ full }) => full.count > 0)
  const atFirst = await daemon.cost()
  const changeRuns: ChangeRun[] = []
  for (let change = 0; change < changes; change++) {
    await sleep(pauseMs)
    changeRuns.push(await changeOnce(daemon))
  }
  if (idleMs > 0) await sleep(pauseMs)
  const idleFrom = { cost: await daemon.cost(), atMs: performance.now() }
  await sleep(idleMs)
  const last = await daemon.cost()
  const idledMs = performance.now() - idleFrom.atMs
  return {
    firstSyncMs: first.full.ms / first.full.count,
    startMs: first.syncedAtMs - daemon.startedAtMs,
    startCpuMs: { own: atFirst.ownCpuMs, tools: atFirst.toolsCpuMs },
    changes: changeRuns,
    idleShare: {
      own: (last.ownCpuMs - idleFrom.cost.ownCpuMs) / idledMs,
      tools: (last.toolsCpuMs - idleFrom.cost.toolsCpuMs) / idledMs,
    },
    residentMb: last.residentMb,
    peakMb: last.peakMb,
    restoredBytes: kind === 'counting' ? await tools.restoredBytes() : [],
  }
}

async function changeOnce(daemon: ProxyDaemon): Promise<ChangeRun> {
  const before = await daemon.when(() => true)
  const costBefore = await daemon.cost()
  const changedAtMs = await daemon.changeEndpoint()
  const after = await daemon.when(({ partial }) => partial.count > before.partial.count)
  const cost = await daemon.cost()
  return {
    syncMs: after.partial.ms - before.partial.ms,
    latencyMs: after.syncedAtMs - changedAtMs,
    ownCpuMs: cost.ownCpuMs - costBefore.ownCpuMs,
    toolsCpuMs: cost.toolsCpuMs - costBefore.toolsCpuMs,
  }
}
