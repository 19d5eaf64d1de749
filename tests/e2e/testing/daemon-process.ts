/** The daemon in userspace mode, with its servers at ports that are free. */
import { freePorts } from '../../cluster/testing/free-ports.ts'
import { get } from './clients.ts'
import type { HttpAnswer } from './clients.ts'
import { eventually } from './eventually.ts'
import { FairleadProcess } from './fairlead-process.ts'
import type { StartOptions } from './fairlead-process.ts'

export const nodeName = 'node1'

export class DaemonProcess implements AsyncDisposable {
  readonly process: FairleadProcess
  readonly #ports: { readonly health: number; readonly metrics: number }

  private constructor(args: readonly string[], ports: { health: number; metrics: number }, options: StartOptions) {
    this.process = new FairleadProcess([...args, ...daemonFlags, ...portFlags(ports)], options)
    this.#ports = ports
  }

  /** Does not wait: what a daemon can do at which moment is what tests ask. */
  static async start(...args: readonly string[]): Promise<DaemonProcess> {
    return DaemonProcess.startWith({}, ...args)
  }

  static async startWith(options: StartOptions, ...args: readonly string[]): Promise<DaemonProcess> {
    return new DaemonProcess(args, await freePorts('health', 'metrics'), options)
  }

  /** The same with something to read from standard input. */
  static async startReading(stdin: string, ...args: readonly string[]): Promise<DaemonProcess> {
    return DaemonProcess.startWith({ stdin }, ...args)
  }

  /** Asks the health server, as a load balancer does. */
  health(path: string): Promise<HttpAnswer> {
    return get(`http://127.0.0.1:${this.#ports.health}${path}`)
  }

  metrics(path: string): Promise<HttpAnswer> {
    return get(`http://127.0.0.1:${this.#ports.metrics}${path}`)
  }

  /** The state that `/healthz?verbose` shows: `live` or `saved`. */
  async detail(): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.health('/healthz?verbose')
    return (JSON.parse(body) as { detail: Record<string, unknown> }).detail
  }

  /** Waits until both servers answer. */
  async isUp(): Promise<void> {
    await eventually(() => this.health('/livez'))
    await eventually(() => this.metrics('/healthz'))
  }

  /** The ports of its own servers. */
  get ports(): readonly number[] {
    return [this.#ports.health, this.#ports.metrics]
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]()
  }
}

/** Nothing of the machine is changed, and a change is served without a pause before it. */
const daemonFlags = [
  '--proxy-mode=userspace',
  `--hostname-override=${nodeName}`,
  '--nodeport-addresses=127.0.0.0/8',
  '--iptables-min-sync-period=0s',
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0s',
  '--conntrack-tcp-timeout-close-wait=0s',
]

function portFlags({ health, metrics }: { health: number; metrics: number }): readonly string[] {
  return [`--healthz-bind-address=127.0.0.1:${health}`, `--metrics-bind-address=127.0.0.1:${metrics}`]
}
