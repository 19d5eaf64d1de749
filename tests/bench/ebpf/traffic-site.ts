/**
 * A node with the tables of the ebpf mode. Hooks translate for clients in the cgroup; for those outside of it the table for
 * packets does. So both are measured on one node, in one state.
 */
import { join } from 'node:path'
import { decodeServiceStats, layout, layoutVersion } from '../../../src/backends/ebpf/layout.ts'
import type { BpfMap } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { EbpfPlace } from '../../packet/testing/fairlead-ebpf.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { RunningProgram } from '../userspace/running-program.ts'
import { object } from './built-programs.ts'
import { NodeAndPods } from './node-and-pods.ts'
import type { ClientPlace, Measured, RequestKind } from './node-and-pods.ts'
import { endpoints, service } from './places.ts'
import { Untracked } from './untracked.ts'

/** Straight to the endpoints, or to the Service. `untracked`: at the sockets, and without connection tracking on the node. */
export type Way = 'direct' | 'sockets' | 'untracked' | 'nftables' | 'kube-proxy'

export interface Request {
  readonly from: ClientPlace
  readonly way: Way
  readonly kind: RequestKind
}

const script = compiledScript(new URL('./node-process.ts', import.meta.url))

export class TrafficSite implements AsyncDisposable {
  readonly #place: NodeAndPods
  readonly #hooks = new EbpfPlace()
  #proxy: RunningProgram | undefined
  #stats: BpfMap | undefined

  private constructor(place: NodeAndPods) {
    this.#place = place
  }

  static async open(services: number): Promise<TrafficSite> {
    const site = new TrafficSite(await NodeAndPods.open())
    try {
      await site.#start(services)
      return site
    } catch (error) {
      await site[Symbol.asyncDispose]()
      throw error
    }
  }

  async measure({ from, way, kind }: Request, milliseconds: number): Promise<Measured> {
    const isHooked = way === 'sockets' || way === 'untracked'
    using untracked = way === 'untracked' ? new Untracked(this.#place.node) : undefined
    const before = this.#connections
    const measured = await this.#place.ask(
      { from, kind, milliseconds },
      way === 'direct' ? endpoints : service,
      isHooked ? (start) => this.#hooks.cgroup.enter(start) : undefined,
    )
    const areHooked = this.#connections > before
    if (areHooked !== isHooked)
      throw new Error(
        `hooks have translated ${areHooked ? 'what they should not' : 'nothing'}: there is nothing to compare`,
      )
    untracked?.assertUsed()
    return measured
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy?.[Symbol.asyncDispose]()
    this.#stats?.[Symbol.dispose]()
    await this.#place[Symbol.asyncDispose]()
    await this.#hooks[Symbol.asyncDispose]()
  }

  async #start(services: number): Promise<void> {
    const { cgroup, pins } = this.#hooks
    const tables = [script, `${services}`, cgroup.path, pins, object]
    this.#proxy = this.#place.node.enter(() => new RunningProgram([process.execPath, ...tables]))
    await this.#proxy.nextLine()
    this.#place.forgetClosedSoon()
    this.#stats = await (await openBpf()).openMap(join(pins, `${layoutVersion}`, 'maps', 'service_stats'))
  }

  /** Those that hooks have led to an endpoint. */
  get #connections(): number {
    const bytes = this.#stats?.bytes ?? new Uint8Array()
    let sum = 0
    for (let at = 0; at < bytes.length; at += layout.serviceStats.size) sum += decodeServiceStats(bytes, at).connections
    return sum
  }
}
