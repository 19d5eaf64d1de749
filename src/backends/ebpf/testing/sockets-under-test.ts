/** A node of two random clusters, one for each family, whose sockets share one set of tables. */
import { silentLogger } from '../../../core/logger.ts'
import type { NodeView } from '../../../core/backend.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import type { Family } from '../../../net/ip.ts'
import { DoorCalls } from '../../testing/door-calls.ts'
import { accumulated, Cluster } from '../../testing/random-history.ts'
import type { ClusterStep, Work } from '../../testing/random-history.ts'
import { EbpfBackend } from '../ebpf-backend.ts'
import type { SocketBalancer, SocketBalancerOptions } from '../socket-balancer.ts'
import { countedDoor } from './counted-door.ts'
import { MemoryNode } from './memory-node.ts'
import { noPackets } from './no-packets.ts'

const never = new AbortController().signal

export interface FamilyStep {
  readonly family: Family
  readonly step: ClusterStep
}

export class SocketsUnderTest {
  readonly node = new MemoryNode()
  readonly calls = new DoorCalls()
  readonly clusters: Readonly<Record<Family, Cluster>>
  readonly #options: Partial<SocketBalancerOptions>
  #process: Process
  readonly #unprogrammed: Partial<Record<Family, Work>> = {}

  constructor(steps: readonly FamilyStep[] = [], options: Partial<SocketBalancerOptions> = {}) {
    const clusterOf = (family: Family) =>
      new Cluster(
        addressPlans[family],
        steps.filter((each) => each.family === family).map(({ step }) => step),
      )
    this.clusters = { ipv4: clusterOf('ipv4'), ipv6: clusterOf('ipv6') }
    this.#options = options
    this.#process = this.#start()
  }

  get balancer(): SocketBalancer {
    return this.#process.balancer
  }

  get clock(): FakeClock {
    return this.#process.clock
  }

  backend(family: Family): EbpfBackend {
    return this.#process.backends[family]
  }

  restart(): void {
    this.#process = this.#start()
  }

  view(family: Family): NodeView {
    return this.clusters[family].takeAll().view
  }

  async sync(family: Family, { full = false, signal = never } = {}): Promise<void> {
    const taken = this.clusters[family].take({ full })
    const before = this.#unprogrammed[family]
    const work = before === undefined ? taken : accumulated(before, taken)
    this.#unprogrammed[family] = work
    await this.#process.backends[family].sync(work.view, work.change, signal)
    delete this.#unprogrammed[family]
  }

  #start(): Process {
    const clock = new FakeClock()
    const door = (bpf: SocketBalancerOptions['bpf']) => countedDoor(this.calls, bpf)
    const balancer = this.node.newBalancer(clock, { ...this.#options, door })
    const backendOf = (family: Family) => {
      const ips = new Set(addressPlans[family].node)
      const node = () => ({ ownIps: ips, nodePortIps: ips })
      return new EbpfBackend({ family, balancer, packets: noPackets, node, clock, log: silentLogger })
    }
    return { clock, balancer, backends: { ipv4: backendOf('ipv4'), ipv6: backendOf('ipv6') } }
  }
}

interface Process {
  readonly clock: FakeClock
  readonly balancer: SocketBalancer
  readonly backends: Readonly<Record<Family, EbpfBackend>>
}
