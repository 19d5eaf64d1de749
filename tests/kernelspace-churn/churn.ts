/**
 * Services and endpoints that come, change and go on a Windows node, without end, while HNS fails now and then, restarts, and
 * loses objects. Every now and then all Services go: then HNS must hold nothing of ours, and nothing may be remembered.
 */
import { KernelspaceBackend } from '../../src/backends/kernelspace/kernelspace-backend.ts'
import type { ServiceRecord, SliceRecord } from '../../src/api/records.ts'
import { objectKey } from '../../src/api/records.ts'
import { Catalog } from '../../src/core/catalog.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { silentMetrics } from '../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../src/core/routing/route-table.ts'
import { silentNotices } from '../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../src/core/routing/serving-policy.ts'
import { service, slice } from '../../src/core/testing/objects.ts'
import { seededRandom } from '../../src/core/testing/seeded-random.ts'
import { featuresOf } from '../../src/dataplane/hcn/features.ts'
import { HcnError } from '../../src/dataplane/hcn/hcn.ts'
import { hcnOverDriver } from '../../src/dataplane/hcn/hcn-over-driver.ts'
import { hresult } from '../../src/dataplane/hcn/hresult.ts'
import type { HnsProfile } from '../../src/dataplane/hcn/memory/hns-options.ts'
import { MemoryDriver } from '../../src/dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../src/dataplane/hcn/memory/memory-hns.ts'
import { MemoryOwnedObjects } from '../../src/dataplane/owned-objects/memory-owned-objects.ts'

export interface ChurnOptions {
  readonly profile: HnsProfile
  readonly type: 'L2Bridge' | 'Overlay'
  readonly seed: number
}

export interface Residue {
  readonly balancers: number
  /** Pods of this node not counted, nor what an overlay network keeps as long as the proxy runs. */
  readonly remoteEndpoints: number
  readonly owned: readonly string[]
}

const never = new AbortController().signal
const names = 40
const localPods = ['10.61.1.5', '10.61.1.6', '10.61.1.7']

export class Churn {
  readonly #random: () => number
  readonly #hns: MemoryHns
  readonly #driver: MemoryDriver
  readonly #owned = new MemoryOwnedObjects()
  readonly #catalog = new Catalog()
  readonly #table: RouteTable
  readonly #backend: KernelspaceBackend
  #isSure = false
  #syncs = 0

  constructor({ profile, type, seed }: ChurnOptions) {
    this.#random = seededRandom(seed)
    this.#hns = new MemoryHns({ profile })
    const network = this.#hns.putNetwork({ name: 'pod-net', type })
    for (const ip of localPods) this.#hns.putEndpoint(network, { ips: [ip] })
    this.#driver = new MemoryDriver(this.#hns)
    for (const kind of ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] as const) this.#catalog.replace(kind, [])
    this.#table = new RouteTable({
      catalog: this.#catalog,
      family: 'ipv4',
      nodeName: 'win-a',
      nodeIP: '172.30.7.11',
      policy: { ...usualPolicy, endpointRules: 'kernelspace' },
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
    this.#backend = new KernelspaceBackend({
      hcn: hcnOverDriver(this.#driver, { timeLimitMs: 30_000 }),
      owned: this.#owned,
      settings: {
        family: 'ipv4',
        network: { name: 'pod-net', type },
        enableDsr: true,
        features: featuresOf(this.#hns.version),
        sourceVip: type === 'Overlay' ? '10.61.1.2' : undefined,
        nodeIp: '172.30.7.11',
        hostMac: '00:15:5d:0a:0b:0c',
        forwardHealthCheckVip: false,
        rootEndpointName: 'cbr0',
        healthzPort: undefined,
      },
      clock: systemClock,
      log: silentLogger,
    })
  }

  /** So many changes, with trouble in between; then all Services go, and HNS is left in peace. */
  async round(changes: number): Promise<Residue> {
    for (let change = 0; change < changes; change++) {
      this.#change()
      this.#makeTrouble()
      await this.#sync()
    }
    this.#hns.start()
    for (const kind of ['Service', 'EndpointSlice'] as const) this.#catalog.replace(kind, [])
    // What HNS did not let go is tried again by later syncs, and those come.
    this.#isSure = false
    for (let attempt = 0; attempt < 3; attempt++) await this.#sync()
    return this.#residue()
  }

  get syncs(): number {
    return this.#syncs
  }

  /** Those that HNS was asked; the list is emptied. */
  takeCalls(): number {
    return this.#driver.takeJournal().length
  }

  #residue(): Residue {
    return {
      balancers: this.#hns.loadBalancers.filter(({ isHalf }) => !isHalf).length,
      remoteEndpoints: this.#hns.endpoints.filter(({ isRemote }) => isRemote).length,
      owned: this.#owned.list(),
    }
  }

  async #sync(): Promise<void> {
    this.#syncs++
    const { view, change } = this.#table.take({ full: !this.#isSure })
    try {
      const { failed } = await this.#backend.sync(view, change, never)
      this.#isSure = failed.length === 0
    } catch (error) {
      // HNS is away, or somebody changed it: the next sync looks at everything.
      if (!(error instanceof HcnError || error instanceof Error)) throw error
      this.#isSure = false
    }
  }

  #change(): void {
    const name = `s${this.#below(names)}`
    const isThere = this.#catalog.services.has(objectKey({ namespace: 'demo', name }))
    if (isThere && this.#chance(0.2)) {
      this.#catalog.remove('Service', objectKey({ namespace: 'demo', name }))
      this.#catalog.remove('EndpointSlice', objectKey({ namespace: 'demo', name: `${name}-1` }))
      return
    }
    if (!isThere || this.#chance(0.2)) this.#catalog.upsert(this.#service(name))
    this.#catalog.upsert(this.#slice(name))
  }

  #service(name: string): ServiceRecord {
    const index = Number(name.slice(1))
    const type = this.#pick(['ClusterIP', 'NodePort', 'LoadBalancer'])
    return service(
      `demo/${name}`,
      {
        type,
        clusterIP: `10.112.0.${index + 1}`,
        ports: [{ port: 80, ...(type === 'ClusterIP' ? {} : { nodePort: 30_000 + index }) }],
        sessionAffinity: this.#pick(['None', 'ClientIP']),
        ...(type === 'ClusterIP' ? {} : { externalTrafficPolicy: this.#pick(['Cluster', 'Local']) }),
      },
      type === 'LoadBalancer' ? { loadBalancer: { ingress: [{ ip: `203.0.113.${index + 1}` }] } } : {},
    )
  }

  #slice(name: string): SliceRecord {
    const remote = Array.from({ length: this.#below(5) }, () => `10.61.2.${1 + this.#below(200)}`)
    const local = localPods.filter(() => this.#chance(0.3))
    const endpoints = [...new Set([...remote, ...local])].map((ip) => ({
      addresses: [ip],
      nodeName: local.includes(ip) ? 'win-a' : 'win-b',
      conditions: this.#pick([{}, {}, { ready: false, serving: true, terminating: true }]),
    }))
    return slice(`demo/${name}-1`, name, endpoints)
  }

  #makeTrouble(): void {
    const { loadBalancers } = this.#hns
    if (this.#chance(0.03))
      this.#driver.fault({
        nth: 1 + this.#below(10),
        hresult: this.#pick([hresult.rpcUnavailable, hresult.policyInvalid]),
      })
    if (this.#chance(0.01)) this.#hns.stop(1 + this.#below(20))
    if (this.#chance(0.01)) {
      this.#hns.start(this.#pick([[], ['LoadBalancer'], ['Endpoint', 'LoadBalancer']] as const))
      this.#isSure = false
    }
    const victim = loadBalancers[this.#below(loadBalancers.length + 1)]
    if (victim !== undefined && this.#chance(0.02)) {
      this.#hns.remove('LoadBalancer', victim.id)
      this.#isSure = false // the watch would notice within seconds
    }
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T
  }
}
