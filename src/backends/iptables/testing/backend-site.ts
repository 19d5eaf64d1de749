/** An iptables backend on tables in memory, with a catalog that a test fills. */
import { Catalog } from '../../../core/catalog.ts'
import { silentLogger } from '../../../core/logger.ts'
import { silentMetrics } from '../../../core/proxy-metrics.ts'
import { RouteTable } from '../../../core/routing/route-table.ts'
import { silentNotices } from '../../../core/routing/service-notices.ts'
import { usualPolicy } from '../../../core/routing/serving-policy.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { service } from '../../../core/testing/objects.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { savedRulesHash } from '../../../dataplane/iptables/change-detector.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import type { RestoreText } from '../../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../../dataplane/iptables/memory-iptables.ts'
import { chainChangesFromTokens } from '../../../dataplane/iptables/chain-changes.ts'
import { ChainWatch } from '../chain-watch.ts'
import { IptablesBackend } from '../iptables-backend.ts'
import { SettingsSource } from '../settings-source.ts'

export const never = new AbortController().signal

/** Remembers what was sent. */
class RecordingIptables extends MemoryIptables {
  readonly inputs: string[] = []
  failures = 0
  areCountersUnreadable = false
  /** Inputs that never arrive. */
  isLost = (_input: string) => false

  override async restore(input: RestoreText, signal: AbortSignal): Promise<void> {
    const text = [input].flat().join('')
    this.inputs.push(text)
    if (this.failures > 0 || this.isLost(text)) {
      this.failures = Math.max(0, this.failures - 1)
      throw new IptablesError('locked', 'somebody holds the xtables lock')
    }
    await super.restore(input, signal)
  }

  override async readCounters(...args: Parameters<MemoryIptables['readCounters']>): Promise<void> {
    if (this.areCountersUnreadable) throw new IptablesError('locked', 'the counters cannot be read')
    await super.readCounters(...args)
  }
}

export function setUp(
  options: {
    readonly missingMatches?: ReadonlySet<string>
    readonly countsConnections?: (routes: number) => boolean
  } = {},
) {
  const catalog = new Catalog()
  catalog.replace('Service', [])
  catalog.replace('EndpointSlice', [])
  const clock = new FakeClock()
  const kernel = new RecordingIptables({ family: 'ipv4', ...options })
  const localIps = ['10.200.0.2', '127.0.0.1']
  const log = new RecordingLogger()
  const counted = { rules: { filter: {}, nat: {} }, failures: [] as boolean[] }
  const make = (iptables: MemoryIptables) =>
    new IptablesBackend({
      iptables,
      log,
      countsConnections: options.countsConnections ?? (() => false),
      drift: new ChainWatch({
        iptables,
        openChanges: () => Promise.resolve(chainChangesFromTokens(savedRulesHash(iptables, ['filter', 'nat']))),
        clock,
        log: silentLogger,
      }),
      metrics: {
        rules: (table, rules) => (counted.rules[table] = rules),
        restoreFailed: ({ isFull }) => counted.failures.push(isFull),
      },
      settings: new SettingsSource({
        iptables,
        log: silentLogger,
        ensureCounter: () => Promise.resolve(true),
        fixed: () => ({
          family: 'ipv4',
          localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
          masqueradeAll: false,
          masqueradeMark: '0x00004000',
          localhostNodePorts: true,
          nodePortAddresses: ['10.200.0.0/16'],
          dropsInvalid: true,
          localIps: () => localIps,
        }),
      }),
    })
  const table = () =>
    new RouteTable({
      catalog,
      family: 'ipv4',
      nodeName: 'here',
      nodeIP: '10.200.0.2',
      policy: usualPolicy,
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
  const backend = make(kernel)
  const routes = table()
  const sync = async (full = false) => {
    const { view, change } = routes.take({ full })
    return backend.sync(view, change, never)
  }
  /** What a full sync would leave in an empty kernel. */
  const fromScratch = async () => {
    const fresh = new MemoryIptables({ family: 'ipv4', ...options })
    const { view, change } = table().take({ full: true })
    await make(fresh).sync(view, change, never)
    return fresh.saveAll(never)
  }
  return { catalog, kernel, backend, sync, fromScratch, localIps, counted, clock, log }
}

export const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
export const manyServices = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    service(`load/s${i}`, { clusterIP: `10.97.${i >> 8}.${i & 255}`, ports: [{ port: 80 }] }),
  )
