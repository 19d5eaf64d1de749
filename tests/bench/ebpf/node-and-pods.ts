/** A pod with clients, a node, and a pod with all endpoints of one Service: three network namespaces, joined by veth pairs. */
import { Namespace } from '../../packet/testing/namespace.ts'
import { hostEnd, joinNamespaces } from '../joined-namespaces.ts'
import { RunningProgram } from '../userspace/running-program.ts'
import { peer } from './built-programs.ts'
import { clientIp, endpoints, nodeIp } from './places.ts'

export type ClientPlace = 'pod' | 'host'
export type RequestKind = 'connect' | 'kept' | 'datagrams' | 'connected-datagrams'

export interface Measured {
  readonly perSecond: number
  /** Of client and server, for each request. */
  readonly cpuUs: number
  /** How long a client waits for one new connection, or for the answers on all kept ones. */
  readonly p50Us: number
  readonly p99Us: number
}

export interface Asked {
  readonly ips: readonly string[]
  readonly port: number
}

export class NodeAndPods implements AsyncDisposable {
  readonly #clients: Readonly<Record<ClientPlace, Namespace>> = { pod: Namespace.make(), host: Namespace.make() }
  readonly #servers = Namespace.make()
  #echo: RunningProgram | undefined
  #serverPid = 0

  static async open(): Promise<NodeAndPods> {
    const place = new NodeAndPods()
    try {
      place.#join()
      await place.#startServers()
      return place
    } catch (error) {
      await place[Symbol.asyncDispose]()
      throw error
    }
  }

  get node(): Namespace {
    return this.#clients.host
  }

  /** The client is started by `started`, which may put it somewhere. */
  async ask(
    {
      from,
      kind,
      milliseconds,
    }: { readonly from: ClientPlace; readonly kind: RequestKind; readonly milliseconds: number },
    { ips, port }: Asked,
    started: (start: () => RunningProgram) => RunningProgram = (start) => start(),
  ): Promise<Measured> {
    const command = [peer, 'ask', kind, `${milliseconds}`, `${this.#serverPid}`, `${port}`, ...ips] as const
    await using client = started(() => this.#clients[from].enter(() => new RunningProgram(command)))
    return await client.nextLine<Measured>()
  }

  /** Closed connections would fill conntrack, which all namespaces share. It is there once the tables are. */
  forgetClosedSoon(): void {
    this.node.setSysctl('netfilter.nf_conntrack_tcp_timeout_close', 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#echo?.[Symbol.asyncDispose]()
    for (const namespace of [this.#servers, ...Object.values(this.#clients)]) namespace[Symbol.dispose]()
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

  async #startServers(): Promise<void> {
    const command = [peer, 'serve', `${endpoints.port}`, ...endpoints.ips] as const
    this.#echo = this.#servers.enter(() => new RunningProgram(command))
    this.#serverPid = (await this.#echo.nextLine<{ readonly pid: number }>()).pid
  }
}
