/** A Windows node in memory: HNS, the cluster as the node learns of it, and a backend for each family. */
import { objectKey } from '../../../api/records.ts'
import type { ServiceRecord, SliceRecord } from '../../../api/records.ts'
import type { SyncReport } from '../../../core/backend.ts'
import { Catalog } from '../../../core/catalog.ts'
import { silentMetrics } from '../../../core/proxy-metrics.ts'
import type { RouteKey } from '../../../core/route.ts'
import { RouteTable } from '../../../core/routing/route-table.ts'
import { silentNotices } from '../../../core/routing/service-notices.ts'
import { usualPolicy } from '../../../core/routing/serving-policy.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { featuresOf } from '../../../dataplane/hcn/features.ts'
import type { Hcn } from '../../../dataplane/hcn/hcn.ts'
import { hcnOverDriver } from '../../../dataplane/hcn/hcn-over-driver.ts'
import type { HnsOptions } from '../../../dataplane/hcn/memory/hns-options.ts'
import { MemoryDriver } from '../../../dataplane/hcn/memory/memory-driver.ts'
import type { DriverCall } from '../../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../../dataplane/hcn/memory/memory-hns.ts'
import { MemoryOwnedObjects } from '../../../dataplane/owned-objects/memory-owned-objects.ts'
import type { Family } from '../../../net/ip.ts'
import { KernelspaceBackend } from '../kernelspace-backend.ts'
import type { KernelspaceSettings } from '../settings.ts'
import { describeBalancer } from './describe-hns.ts'
import { testSettings } from './settings.ts'

const never = new AbortController().signal

export interface WindowsNodeOptions {
  readonly hns?: HnsOptions
  readonly type?: 'L2Bridge' | 'Overlay'
  readonly families?: readonly Family[]
  readonly settings?: Partial<KernelspaceSettings>
}

export const nodeName = 'win-a'
const nodeIps = { ipv4: testSettings.nodeIp, ipv6: '2001:db8:7::11' }

export class WindowsNode {
  readonly hns: MemoryHns
  readonly driver: MemoryDriver
  readonly owned = new MemoryOwnedObjects()
  readonly clock = new FakeClock()
  readonly logged = new RecordingLogger()
  readonly networkId: string
  readonly #options: WindowsNodeOptions
  readonly #catalog = new Catalog()
  readonly #hcn: Hcn
  #sides: readonly Side[] = []

  constructor(options: WindowsNodeOptions = {}) {
    this.#options = options
    this.hns = new MemoryHns(options.hns ?? {})
    this.driver = new MemoryDriver(this.hns, { clock: this.clock })
    this.#hcn = hcnOverDriver(this.driver, { clock: this.clock, timeLimitMs: 30_000 })
    this.networkId = this.putNetwork()
    this.#catalog.replace('Service', [])
    this.#catalog.replace('EndpointSlice', [])
    this.restart()
  }

  putNetwork(): string {
    return this.hns.putNetwork({
      name: 'pod-net',
      type: this.#options.type ?? 'L2Bridge',
      subnets: ['10.61.1.0/24', '2001:db8:61::1:0/112'],
      remoteSubnets: [
        { prefix: '10.61.2.0/24', providerAddress: '172.30.7.12', isolationId: 4096, routerMac: '00-15-5D-4C-11-02' },
      ],
    })
  }

  /** A new process, which knows nothing but what is written down. It may be configured otherwise. */
  restart(other: Partial<KernelspaceSettings> = {}): void {
    this.#sides = (this.#options.families ?? ['ipv4']).map((family) => this.#side(family, other))
  }

  /** The CNI has made a pod. */
  pod(...ips: readonly string[]): string {
    return this.hns.putEndpoint(this.networkId, { ips })
  }

  put(...records: readonly (ServiceRecord | SliceRecord)[]): void {
    for (const record of records) this.#catalog.upsert(record)
  }

  remove(kind: 'Service' | 'EndpointSlice', name: string): void {
    this.#catalog.remove(kind, objectKey({ namespace: 'demo', name }))
  }

  /** The first one is full, and so is the one after a failure. */
  async sync({ full = false, retry = [] as readonly RouteKey[] } = {}): Promise<SyncReport['failed']> {
    const failed: SyncReport['failed'][number][] = []
    for (const side of this.#sides) {
      const { view, change } = side.table.take({ full: full || !side.isSynced })
      side.isSynced = false
      const keys = [...new Set([...change.keys, ...retry])]
      const report = await side.backend.sync(view, { ...change, keys }, never)
      side.isSynced = true
      failed.push(...report.failed)
    }
    return failed
  }

  watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<unknown> {
    return Promise.all(this.#sides.map(({ backend }) => backend.watch(onDrift, signal)))
  }

  /** What HNS forwards, a line for each load balancer, in the order in which they were made. */
  get balancers(): readonly string[] {
    return this.hns.loadBalancers.map((balancer) => describeBalancer(balancer, this.hns))
  }

  /** The addresses of remote endpoints. */
  get remoteIps(): readonly string[] {
    return this.hns.endpoints.filter(({ isRemote }) => isRemote).map(({ ips }) => ips.join())
  }

  endpointId(ip: string): string | undefined {
    return this.hns.endpoints.find(({ ips }) => ips.includes(ip))?.id
  }

  balancerId(vip: string | undefined, externalPort = 80): string | undefined {
    return this.hns.loadBalancers.find((it) => it.vip === vip && it.externalPort === externalPort)?.id
  }

  /** What was asked of HNS since the last time. */
  calls(): readonly DriverCall['operation'][] {
    return this.driver.takeJournal().map(({ operation }) => operation)
  }

  /** Only what changes something. */
  writes(): readonly DriverCall['operation'][] {
    return this.calls().filter((operation) => /^(create|modify|remove)/.test(operation))
  }

  /** Documents that were sent since the last time. */
  created(kind: 'Endpoint' | 'LoadBalancer'): readonly string[] {
    return this.driver
      .takeJournal()
      .flatMap(({ operation, args }) => (operation === `create${kind}` ? (args[0] ?? '') : []))
  }

  #side(family: Family, other: Partial<KernelspaceSettings>): Side {
    const table = new RouteTable({
      catalog: this.#catalog,
      family,
      nodeName,
      nodeIP: nodeIps[family],
      policy: { ...usualPolicy, endpointRules: 'kernelspace' },
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
    const { type = 'L2Bridge', settings = {} } = this.#options
    const backend = new KernelspaceBackend({
      hcn: this.#hcn,
      owned: this.owned,
      settings: {
        ...testSettings,
        family,
        network: { name: 'pod-net', type },
        features: featuresOf(this.hns.version),
        nodeIp: nodeIps[family],
        ...settings,
        ...other,
      },
      clock: this.clock,
      log: this.logged,
    })
    return { backend, table, isSynced: false }
  }
}

interface Side {
  readonly backend: KernelspaceBackend
  readonly table: RouteTable
  isSynced: boolean
}
