/** A node with a memory kernel and a backend that keeps it equal to the routes that a test gives. */
import type { Logger } from '../../../core/logger.ts'
import { silentLogger } from '../../../core/logger.ts'
import type { SyncReport } from '../../../core/backend.ts'
import type { Route, RouteKey } from '../../../core/route.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { testView } from '../../../core/testing/routes.ts'
import { savedRulesHash } from '../../../dataplane/iptables/change-detector.ts'
import { DriftWatch } from '../drift-watch.ts'
import { IpvsBackend } from '../ipvs-backend.ts'
import type { FixedSettings } from '../settings.ts'
import { memoryKernel } from './memory-kernel.ts'
import type { MemoryKernel } from './memory-kernel.ts'

const never = new AbortController().signal

export interface ProxiedNodeOptions {
  readonly kernel?: MemoryKernel
  readonly settings?: Partial<FixedSettings>
  /** Looks for what others change, while `watch` runs. */
  readonly looksForDrift?: boolean
  readonly log?: Logger
}

export function proxiedNode(options: ProxiedNodeOptions = {}) {
  const { kernel = nodeKernel(), settings = {}, looksForDrift = false, log = silentLogger } = options
  const clock = new FakeClock()
  const failures = { restore: 0 }
  const family = settings.family ?? 'ipv4'
  const openDetector = () => Promise.resolve(savedRulesHash(kernel.iptables, ['filter', 'nat']))
  const backend = new IpvsBackend({
    kernel,
    settings: () => ({ ...testSettings, ...settings }),
    drift: looksForDrift ? new DriftWatch({ kernel, family, openDetector, clock, log }) : undefined,
    metrics: { restoreFailed: () => failures.restore++ },
    clock,
    log,
  })
  let before: readonly Route[] = []
  const sync = async (routes: readonly Route[], { full = false } = {}): Promise<SyncReport> => {
    const keys = full ? routes.map(({ key }) => key) : changedKeys(before, routes)
    before = routes
    return backend.sync({ ...testView(...routes), family }, { full, keys, causes: [] }, never)
  }
  return { kernel, backend, clock, failures, sync }
}

/** With an address on a link to the network. */
export function nodeKernel(options: Parameters<typeof memoryKernel>[0] = {}): MemoryKernel {
  const kernel = memoryKernel(options)
  kernel.addresses.addLink('lo', { ip: '127.0.0.1', prefixLength: 8 }, { ip: '::1', prefixLength: 128 })
  kernel.addresses.addLink('eth0', { ip: '192.0.2.1', prefixLength: 24 }, { ip: '2001:db8::1', prefixLength: 64 })
  return kernel
}

const testSettings: FixedSettings = {
  family: 'ipv4',
  scheduler: 'rr',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  nodePortAddresses: [],
  excludeCidrs: [],
}

function changedKeys(before: readonly Route[], after: readonly Route[]): readonly RouteKey[] {
  const removed = before.filter(({ key }) => !after.some((route) => route.key === key))
  const changed = after.filter((route) => !before.includes(route))
  return [...removed, ...changed].map(({ key }) => key)
}
