/** The kernelspace backend on an HNS in memory that takes its time, in a clock that nobody waits for. */
import { KernelspaceBackend } from '../../../src/backends/kernelspace/kernelspace-backend.ts'
import type { Change } from '../../../src/core/backend.ts'
import type { Clock } from '../../../src/core/clock.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import { featuresOf } from '../../../src/dataplane/hcn/features.ts'
import { hcnOverDriver } from '../../../src/dataplane/hcn/hcn-over-driver.ts'
import type { HnsProfile } from '../../../src/dataplane/hcn/memory/hns-options.ts'
import { MemoryDriver } from '../../../src/dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../../src/dataplane/hcn/memory/memory-hns.ts'
import { MemoryOwnedObjects } from '../../../src/dataplane/owned-objects/memory-owned-objects.ts'
import { largeCluster } from '../iptables/large-cluster.ts'

export const callMs = 5
const never = new AbortController().signal
const nodeIp = '192.0.2.10'

interface SyncCost {
  /** Functions of computenetwork.dll that were called. */
  readonly calls: number
  /** What HNS took, plus what we took. */
  readonly ms: number
}

export interface HnsRun {
  readonly first: SyncCost
  readonly changes: readonly SyncCost[]
  /** What HNS held after the first sync. */
  readonly balancers: number
  readonly remoteEndpoints: number
  readonly localEndpoints: number
  /** How many load balancers the Services that changed have, each. */
  readonly balancersPerChange: number
}

export async function measureHns(services: number, changes: number, profile: HnsProfile): Promise<HnsRun> {
  const cluster = largeCluster(services, { ...usualPolicy, endpointRules: 'kernelspace' })
  const hns = new MemoryHns({ profile })
  const network = hns.putNetwork({ name: 'pod-net' })
  const local = new Set<string>()
  for (const { endpoints } of cluster.table.view.routesByKey.values())
    for (const { ip, isLocal } of endpoints) if (isLocal) local.add(ip)
  for (const ip of local) hns.putEndpoint(network, { ips: [ip] })

  const waiting = new CountingClock()
  const driver = new MemoryDriver(hns, { clock: waiting, delayMs: callMs })
  const backend = new KernelspaceBackend({
    hcn: hcnOverDriver(driver, { timeLimitMs: 30_000 }),
    owned: new MemoryOwnedObjects(),
    settings: {
      family: 'ipv4',
      network: { name: 'pod-net', type: 'L2Bridge' },
      enableDsr: false,
      features: featuresOf(hns.version),
      sourceVip: undefined,
      nodeIp,
      hostMac: '',
      forwardHealthCheckVip: false,
      rootEndpointName: 'cbr0',
      healthzPort: undefined,
    },
    clock: systemClock,
    log: silentLogger,
  })
  const sync = async (full: boolean): Promise<SyncCost> => {
    const { view, change } = cluster.table.take({ full })
    const [waited, started] = [waiting.waitedMs, performance.now()]
    const { failed } = await backend.sync(view, change satisfies Change, never)
    if (failed.length > 0) throw new Error(`not programmed: ${JSON.stringify(failed[0])}`)
    const waitedMs = waiting.waitedMs - waited
    return { calls: waitedMs / callMs, ms: waitedMs + performance.now() - started }
  }

  const first = await sync(true)
  const held = {
    balancers: hns.loadBalancers.length,
    remoteEndpoints: hns.endpoints.length - local.size,
    localEndpoints: local.size,
  }
  const costs: SyncCost[] = []
  for (let change = 0; change < changes; change++) {
    // Plain cluster IPs: nine of ten Services.
    cluster.moveEndpoint(change * 10 + 1)
    costs.push(await sync(false))
  }
  return { first, changes: costs, ...held, balancersPerChange: 1 }
}

/** Time passes at once, and is added up. */
class CountingClock implements Clock {
  waitedMs = 0
  now = () => Date.now()
  monotonic = () => performance.now()
  sleep(ms: number): Promise<void> {
    this.waitedMs += ms
    return Promise.resolve()
  }
}
