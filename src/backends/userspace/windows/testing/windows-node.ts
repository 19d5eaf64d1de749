/** A Windows node whose interface is in memory, with real sockets on loopback addresses. */
import type { ServiceRecord, SliceRecord } from '../../../../api/records.ts'
import type { SyncReport } from '../../../../core/backend.ts'
import { systemClock } from '../../../../core/clock.ts'
import { silentLogger } from '../../../../core/logger.ts'
import { nodePortAddresses } from '../../../../core/node/node-port-addresses.ts'
import type { Endpoint, Route, RouteKey } from '../../../../core/route.ts'
import { routesOf } from '../../../../core/routing/router.ts'
import { usualPolicy } from '../../../../core/routing/serving-policy.ts'
import { FakeClock } from '../../../../core/testing/fake-clock.ts'
import { service, slice } from '../../../../core/testing/objects.ts'
import { RecordingLogger } from '../../../../core/testing/recording-logger.ts'
import { testEndpoint, testView } from '../../../../core/testing/routes.ts'
import { MemoryOwnedObjects } from '../../../../dataplane/owned-objects/memory-owned-objects.ts'
import type { OwnedObjects } from '../../../../dataplane/owned-objects/owned-objects.ts'
import { MemoryNetsh } from '../../../../dataplane/netsh/memory-netsh.ts'
import type { Netsh } from '../../../../dataplane/netsh/netsh.ts'
import { NodeRelay } from '../../../../dataplane/relay/node/node-relay.ts'
import { namedEndpoint, udpEndpoint } from '../../../../dataplane/relay/testing/endpoints.ts'
import { use } from '../../../../dataplane/relay/testing/relay-under-test.ts'
import type { ServedAddress } from '../../route-listeners.ts'
import { WindowsBackend } from '../windows-backend.ts'

export interface WindowsNodeOptions {
  readonly netsh?: Netsh
  readonly owned?: OwnedObjects
  readonly clock?: FakeClock
  /** Otherwise connections have the time of the machine. */
  readonly relayClock?: FakeClock
  readonly localIps?: () => readonly string[]
  readonly nodePortAddresses?: readonly string[]
}

const never = new AbortController().signal

/** A Service, and its endpoints. */
export interface Objects {
  readonly service: ServiceRecord
  readonly slices: readonly SliceRecord[]
}

export class WindowsNode {
  readonly relay: NodeRelay
  readonly clock: FakeClock
  readonly owned: OwnedObjects
  readonly log = new RecordingLogger()
  readonly backend: WindowsBackend
  /** What whoever watches has found. */
  readonly found: string[] = []
  #routes: readonly Route[] = []

  constructor(options: WindowsNodeOptions = {}) {
    const { netsh = new MemoryNetsh(), owned = new MemoryOwnedObjects(), localIps = () => [] } = options
    this.clock = options.clock ?? new FakeClock()
    this.owned = owned
    this.relay = use(new NodeRelay({ log: silentLogger, clock: options.relayClock ?? systemClock }))
    this.backend = new WindowsBackend({
      relay: this.relay,
      netsh,
      owned,
      family: 'ipv4',
      localIps,
      nodePortAddresses: () => nodePortAddresses(options.nodePortAddresses ?? [], 'ipv4'),
      clock: this.clock,
      log: this.log,
    })
  }

  /** The Services that there are from now on. */
  apply(...objects: readonly Objects[]): Promise<SyncReport> {
    const policy = { ...usualPolicy, allowLoopback: true }
    const context = { family: 'ipv4', nodeName: 'this-node', zone: '', nodeIP: '192.0.2.1', policy } as const
    return this.applyRoutes(...objects.flatMap(({ service: record, slices }) => routesOf(record, slices, context)))
  }

  /** A Service may not have external IPs on loopback; its routes may. */
  applyRoutes(...routes: readonly Route[]): Promise<SyncReport> {
    const before = this.#routes
    this.#routes = routes
    return this.sync([...new Set([...before, ...routes].map(({ key }) => key))])
  }

  /** A full sync, unless keys are given. */
  sync(keys?: readonly RouteKey[]): Promise<SyncReport> {
    const change = { full: keys === undefined, keys: keys ?? this.#routes.map(({ key }) => key), causes: [] }
    return this.backend.sync(testView(...this.#routes), change, never)
  }

  /** A full sync with no Service, which does not name those that went. */
  forgetAll(): Promise<SyncReport> {
    this.#routes = []
    return this.sync()
  }

  watch(): void {
    const stop = new AbortController()
    const watching = this.backend.watch((what) => {
      this.found.push(what)
      void this.sync()
    }, stop.signal)
    use({
      async [Symbol.asyncDispose]() {
        stop.abort()
        await watching
      },
    })
  }

  /** Everywhere the node listens, as `TCP 10.96.0.10:80`. */
  get listening(): readonly string[] {
    return this.relay
      .stats()
      .listeners.map(({ protocol, address }) => `${protocol} ${address.ip}:${address.port}`)
      .sort()
  }

  addressesOf(key: string): readonly ServedAddress[] {
    return this.backend.addressesOf(key as RouteKey)
  }
}

export interface Port {
  readonly name?: string
  readonly port: number
  readonly protocol?: 'TCP' | 'UDP'
  readonly nodePort?: number
}

/** Its endpoints answer with their names, and listen at ports of their own. */
export async function web(
  name: string,
  ports: readonly Port[],
  spec: Record<string, unknown>,
  { status = {}, pods = ['a'] }: { readonly status?: Record<string, unknown>; readonly pods?: readonly string[] } = {},
): Promise<Objects> {
  const slices: SliceRecord[] = []
  for (const pod of pods)
    for (const { name: portName = '', protocol = 'TCP' } of ports) {
      const { address } = use(await (protocol === 'TCP' ? namedEndpoint(pod) : udpEndpoint(pod)))
      const id = `shop/${name}-${slices.length}`
      slices.push(slice(id, name, [address.ip], [{ name: portName, port: address.port, protocol }]))
    }
  return { service: service(`shop/${name}`, { ports, ...spec }, status), slices }
}

/** Pods that answer with their names. */
export async function pods(...names: readonly string[]): Promise<readonly Endpoint[]> {
  const started = await Promise.all(names.map((name) => namedEndpoint(name)))
  return started.map((endpoint) => testEndpoint(use(endpoint).address.ip, endpoint.address.port))
}
