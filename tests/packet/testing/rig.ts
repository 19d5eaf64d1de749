/** A cluster with a running proxy, and questions to it in the words of the rows. */
import { setTimeout as sleep } from 'node:timers/promises'
import { families } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { ask } from './ask.ts'
import type { Outcome } from './ask.ts'
import { Cluster } from './cluster.ts'
import type { Namespace } from './namespace.ts'
import type { Proxy, ProxySettings, RunningProxy } from './proxy.ts'
import type { Source, Target } from './row.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { clusterObjects, givenService, nodePortOf, objectsOf } from './service-fixture.ts'

export class Rig implements AsyncDisposable {
  readonly cluster: Cluster
  readonly proxy: RunningProxy

  constructor(cluster: Cluster, proxy: RunningProxy) {
    this.cluster = cluster
    this.proxy = proxy
  }

  static async start(proxy: Proxy, settings: ProxySettings, services: readonly ServiceFixture[]): Promise<Rig> {
    return Rig.startWith((cluster) => proxy.start(cluster, settings), services)
  }

  static async startWith(
    startProxy: (cluster: Cluster) => Promise<RunningProxy>,
    services: readonly ServiceFixture[],
  ): Promise<Rig> {
    const cluster = new Cluster()
    try {
      await cluster.isUp()
      const rig = new Rig(cluster, await startProxy(cluster))
      try {
        await rig.program(services)
      } catch (error) {
        // It may have more than the cluster: a cgroup, and a mounted file system.
        await rig.proxy[Symbol.asyncDispose]()
        throw error
      }
      return rig
    } catch (error) {
      cluster[Symbol.dispose]()
      throw error
    }
  }

  /** Makes these the Services of the cluster and waits until their rules are in place. */
  async program(services: readonly ServiceFixture[]): Promise<void> {
    // A new Service that answers says that the others are there too: rules of a family change at once, and in the ipvs
    // mode, where they come last, the beacon's endpoint sees the node only when they are there.
    const generation = this.cluster.nextGeneration()
    const beacon = givenService(`beacon-${generation}`, 250 - (generation % 50), {
      endpoints: ['here-1'],
      // It asks nothing more of the node than that.
      annotations: {
        'fairlead.dev/client-address': 'node',
        // Rules come after what is done at sockets.
        'fairlead.dev/socket-balancing': 'off',
      },
    })
    await this.proxy.apply([...clusterObjects, ...services.flatMap(objectsOf), ...objectsOf(beacon)])
    const deadline = performance.now() + programmingDeadlineMs
    for (const family of families)
      // Where addresses of nobody are dropped, silence is waited for in vain; and a busy machine needs time.
      for (let patienceMs = 50; (await this.#askBeacon(beacon, family, patienceMs)) !== 'here-1';) {
        if (performance.now() > deadline)
          throw new Error(`the proxy has not programmed its rules:\n${this.proxy.log()}`)
        patienceMs = Math.min(2 * patienceMs, 1000)
        await sleep(20)
      }
  }

  ask(from: Source, target: Target, family: Family, patienceMs: number): Promise<Outcome> {
    const { namespace, ip: source } = this.whoIs(from, target, family)
    const { protocol } = target.port
    if (protocol === 'SCTP') throw new Error('no server of the test speaks SCTP: see sctp-init.ts')
    return ask(namespace, {
      transport: transports[protocol],
      ...addressOf(target, family),
      // On loopback the kernel chooses it, as for every program.
      ...(from !== 'localhost' && { source }),
      patienceMs,
    })
  }

  /** The client's place and address. */
  whoIs(from: Source, target: Target, family: Family): { readonly namespace: Namespace; readonly ip: string } {
    const isNode = from === 'node' || from === 'localhost' || from === 'vip'
    return {
      namespace: isNode ? this.cluster.node : this.cluster.host(from),
      ip: sourceAddress(from, target, family),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]()
    this.cluster[Symbol.dispose]()
  }

  async #askBeacon(beacon: ServiceFixture, family: Family, patienceMs: number): Promise<string> {
    const ip = plans[family].clusterIP(beacon.index)
    const outcome = await ask(this.cluster.node, { transport: 'tcp', ip, port: 80, patienceMs })
    if (outcome.kind !== 'answer') return outcome.kind
    return outcome.answer.sawSource === ip ? 'not masqueraded' : outcome.answer.answeredBy
  }
}

const transports = { TCP: 'tcp', UDP: 'udp', ICMP: 'icmp' } as const

/** A dozen proxies may start at once on a machine that has other work, too; and some machines are slow. */
const programmingDeadlineMs = Number(process.env['PROGRAMMING_DEADLINE_MS'] ?? 50_000)

export function sourceAddress(from: Source, { service }: Target, family: Family): string {
  const plan = plans[family]
  if (from === 'node') return plan.nodeIP
  if (from === 'localhost') return plan.loopback
  return from === 'vip' ? plan.secondVip(service.index) : plan.hosts[from]
}

export function addressOf(
  { door, service, port }: Target,
  family: Family,
): { readonly ip: string; readonly port: number } {
  const plan = plans[family]
  const portNumber = service.ports.findIndex((one) => one === port)
  const nodePort = nodePortOf(service, Math.max(0, portNumber))
  switch (door) {
    case 'cluster IP':
      return { ip: plan.clusterIP(service.index), port: port.port }
    case 'external IP':
      return { ip: plan.externalIP(service.index), port: port.port }
    case 'VIP':
      return { ip: plan.vip(service.index), port: port.port }
    case 'second VIP':
      return { ip: plan.secondVip(service.index), port: port.port }
    case 'node port':
      return { ip: plan.nodeIP, port: nodePort }
    case "node port on the node's second address":
      return { ip: plan.secondNodeIP, port: nodePort }
    case 'node port on an idle device':
      return { ip: plan.idleNodeIP, port: nodePort }
    case 'node port on localhost':
      return { ip: plan.loopback, port: nodePort }
    case 'unallocated cluster IP':
      return { ip: plan.unallocatedIP, port: port.port }
    default:
      return door satisfies never
  }
}
