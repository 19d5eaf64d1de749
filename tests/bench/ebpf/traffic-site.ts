/**
 * A pod with clients, a node with the tables of the ebpf mode, and a pod with all endpoints. Hooks translate for clients in the
 * cgroup; for those outside of it the table for packets does. So both are measured on one node, in one state.
 */
import { join } from 'node:path'
import { decodeServiceStats, layout, layoutVersion } from '../../../src/backends/ebpf/layout.ts'
import type { BpfMap } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { EbpfPlace } from '../../packet/testing/fairlead-ebpf.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { hostEnd, joinNamespaces } from '../joined-namespaces.ts'
import { RunningProgram } from '../userspace/running-program.ts'
import { object, peer } from './built-programs.ts'
import { clientIp, endpoints, nodeIp, service } from './places.ts'

export type ClientPlace = 'pod' | 'host'
/** Straight to the endpoints, or to the Service. */
export type Way = 'direct' | 'sockets' | 'nftables'
export type RequestKind = 'connect' | 'kept' | 'datagrams' | 'connected-datagrams'

export interface Request {
  readonly from: ClientPlace
  readonly way: Way
  readonly kind: RequestKind
}

export interface Measured {
  readonly perSecond: number
  /** Of client and server, for each request. */
  readonly cpuUs: number
  /** How long a client waits for one new connection, or for the answers on all kept ones. */
  readonly p50Us: number
  readonly p99Us: number
}

const script = compiledScript(new URL('./node-process.ts', import.meta.url))

export class TrafficSite implements AsyncDisposable {
  readonly #place = new EbpfPlace()
  readonly #clients: Readonly<Record<ClientPlace, Namespace>> = { pod: Namespace.make(), host: Namespace.make() }
  readonly #servers = Namespace.make()
  readonly #programs: RunningProgram[] = []
  #serverPid = 0
  #stats: BpfMap | undefined

  static async open(services: number): Promise<TrafficSite> {
    const site = new TrafficSite()
    try {
      site.#join()
      await site.#start(services)
      return site
    } catch (error) {
      await site[Symbol.asyncDispose]()
      throw error
    }
  }

  async measure({ from, way, kind }: Request, milliseconds: number): Promise<Measured> {
    const { ips, port } = way === 'direct' ? endpoints : service
    const command = [peer, 'ask', kind, `${milliseconds}`, `${this.#serverPid}`, `${port}`, ...ips] as const
    const start = () => this.#clients[from].enter(() => new RunningProgram(command))
    const before = this.#connections
    await using client = way === 'sockets' ? this.#place.cgroup.enter(start) : start()
    const measured = await client.nextLine<Measured>()
    const areHooked = this.#connections > before
    if (areHooked !== (way === 'sockets'))
      throw new Error(
        `hooks have translated ${areHooked ? 'what they should not' : 'nothing'}: there is nothing to compare`,
      )
    return measured
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) await program[Symbol.asyncDispose]()
    this.#stats?.[Symbol.dispose]()
    for (const namespace of [this.#servers, ...Object.values(this.#clients)]) namespace[Symbol.dispose]()
    await this.#place[Symbol.asyncDispose]()
  }

  #join(): void {
    const { pod, host: node } = this.#clients
    joinNamespaces(pod, node, 'client')
    joinNamespaces(this.#servers, node, 'servers')
    pod.ip(`address add ${clientIp} dev eth0`)
    this.#servers.ip(...endpoints.ips.map((ip) => `address add ${ip} dev eth0`))
    node.setSysctl('ipv4.ip_forward', 1)
    node.ip(
      `address add ${nodeIp} dev lo`,
      `route add ${clientIp} via inet6 ${hostEnd} dev client`,
      // To the addresses of Services, too: only what is translated arrives.
      `route add 0.0.0.0/0 via inet6 ${hostEnd} dev servers`,
    )
  }

  async #start(services: number): Promise<void> {
    const { cgroup, pins } = this.#place
    const { host: node } = this.#clients
    const tables = [script, `${services}`, cgroup.path, pins, object]
    const proxy = node.enter(() => new RunningProgram([process.execPath, ...tables]))
    this.#programs.push(proxy)
    const echo = [peer, 'serve', `${endpoints.port}`, ...endpoints.ips] as const
    const servers = this.#servers.enter(() => new RunningProgram(echo))
    this.#programs.push(servers)
    this.#serverPid = (await servers.nextLine<{ readonly pid: number }>()).pid
    await proxy.nextLine()
    // Closed connections would fill conntrack, which all namespaces share.
    node.setSysctl('netfilter.nf_conntrack_tcp_timeout_close', 1)
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
