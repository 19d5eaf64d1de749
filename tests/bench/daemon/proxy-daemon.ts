/** A proxy in a network namespace, together with the API server that it follows. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Namespace } from '../../packet/testing/namespace.ts'
import { ApiServer } from '../core/api-server.ts'
import { nodeName, podRange } from '../core/cluster-objects.ts'
import { scripts } from '../core/programs.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { daemonCost } from './daemon-cost.ts'
import type { DaemonCost } from './daemon-cost.ts'
import type { ProxyProgram } from './proxy-program.ts'
import { parseSyncMetrics } from './sync-metrics.ts'
import type { SyncMetrics } from './sync-metrics.ts'

const metricsPort = 10249
/** Answering costs the proxy something, so it is not asked more often than needed. */
const askEveryMs = 200
/** kube-proxy may be at it for minutes when others want the machine too. */
const patienceMs = 600_000
/** In a second. */
const calmCpuMs = 100

export interface DaemonSetup {
  readonly program: ProxyProgram
  readonly mode: 'iptables' | 'nftables' | 'ipvs' | 'ebpf'
  readonly services: number
  /** Outlives the daemon. */
  readonly namespace: Namespace
  /** Where it finds its tools, if not where everybody does. */
  readonly path?: string
  readonly flags?: readonly string[]
  /** Some Services choose their endpoints in other ways than at random. */
  readonly hasSpecialServices?: boolean
}

export class ProxyDaemon implements AsyncDisposable {
  readonly startedAtMs = Date.now()
  readonly #name: string
  readonly #namespace: Namespace
  readonly #server: ApiServer
  readonly #child: ChildProcess
  readonly #pid: number
  /** The end of what it said, for the message of a failure. */
  #said = ''

  static async start(setup: DaemonSetup): Promise<ProxyDaemon> {
    const { program, mode, services, namespace, path, flags = [], hasSpecialServices } = setup
    const server = await namespace.enter(() => ApiServer.start(scripts.apiServer, services, hasSpecialServices))
    const [file, ...args] = program.command
    const env = { ...process.env, ...(path === undefined ? {} : { PATH: path }) }
    const child = namespace.start(file, [...args, ...commonFlags(mode, server.url('stream')), ...flags], env)
    await once(child, 'spawn')
    return new ProxyDaemon(program.name, namespace, server, child, child.pid ?? 0)
  }

  private constructor(name: string, namespace: Namespace, server: ApiServer, child: ChildProcess, pid: number) {
    this.#name = name
    this.#namespace = namespace
    this.#server = server
    this.#child = child
    this.#pid = pid
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (said: string) => (this.#said = (this.#said + said).slice(-4000)))
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  cost(): Promise<DaemonCost> {
    return daemonCost(this.#pid)
  }

  /** Resolves when it has done for seconds what it does all the time, nothing to speak of; or after so long. */
  async settles(mostMs = patienceMs): Promise<void> {
    const deadline = Date.now() + mostMs
    for (let calmSeconds = 0; calmSeconds < 3 && Date.now() < deadline;) {
      const before = await this.cost()
      await sleep(1000)
      const after = await this.cost()
      const cpuMs = after.ownCpuMs + after.toolsCpuMs - before.ownCpuMs - before.toolsCpuMs
      calmSeconds = cpuMs <= calmCpuMs && !(await hasChildren(this.#pid)) ? calmSeconds + 1 : 0
    }
  }

  /** When the last byte of the objects left the API server, in Unix time. */
  get lastByteAtMs(): number {
    return inUnixTime(this.#server.lastByteMs())
  }

  /** Replaces one endpoint of one Service; tells when, in Unix time. */
  async changeEndpoint(): Promise<number> {
    return inUnixTime(await this.changeEndpoints(1))
  }

  /** Replaces one endpoint of each of so many Services, at once; tells when the last one was, on the shared clock. */
  async changeEndpoints(changes: number, from = 0): Promise<number> {
    const changedAtMs = await this.#server.change({ changes, pauseMs: 0, from })
    if (changedAtMs.size !== changes) throw new Error("the benchmark's API server did not change what it should")
    return Math.max(...changedAtMs.values())
  }

  /** The metrics as soon as they fulfil the condition. */
  async when(isReached: (metrics: SyncMetrics) => boolean): Promise<SyncMetrics> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      const metrics = await this.#metrics()
      if (metrics !== undefined && isReached(metrics)) return metrics
      if (this.#hasEnded || Date.now() > deadline)
        throw new Error(`${this.#name} ${this.#hasEnded ? 'has ended' : 'does not get there'}; it said:\n${this.#said}`)
      await sleep(askEveryMs)
    }
  }

  /** When it next says these words, in Unix time. */
  says(words: string): Promise<number> {
    const streams = [this.#child.stdout, this.#child.stderr]
    return new Promise((resolve, reject) => {
      let heard = ''
      const listen = (said: string) => {
        heard += said
        if (heard.includes(words)) end(() => resolve(Date.now()))
      }
      const end = (how: () => void) => {
        clearTimeout(timer)
        for (const stream of streams) stream?.off('data', listen)
        how()
      }
      const giveUp = () => reject(new Error(`${this.#name} does not say "${words}", but:\n${this.#said}`))
      const timer = setTimeout(() => end(giveUp), patienceMs)
      for (const stream of streams) stream?.on('data', listen)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) {
      this.#child.kill('SIGKILL')
      await once(this.#child, 'exit')
    }
    await this.#server[Symbol.asyncDispose]()
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Undefined while nobody answers. */
  async #metrics(): Promise<SyncMetrics | undefined> {
    const socket = this.#namespace.enter(() =>
      // For an address Node makes the socket after the thread has left the namespace; for a name it does so at once.
      connect({
        host: 'proxy',
        port: metricsPort,
        family: 4,
        lookup: (_host, _options, found) => found(null, '127.0.0.1', 4),
      }),
    )
    const request = get({ path: '/metrics', createConnection: () => socket })
    try {
      const [response] = await once(request, 'response')
      return parseSyncMetrics(await text(response))
    } catch {
      return undefined
    } finally {
      socket.destroy()
    }
  }
}

/** Programs that it runs: what they cost shows when they have ended. */
async function hasChildren(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')) !== ''
}

function inUnixTime(sharedMs: number): number {
  return sharedMs + Date.now() - sharedClockMs()
}

function commonFlags(mode: string, master: string): readonly string[] {
  return [
    `--master=${master}`,
    `--proxy-mode=${mode}`,
    `--hostname-override=${nodeName}`,
    `--cluster-cidr=${podRange}`,
    `--metrics-bind-address=127.0.0.1:${metricsPort}`,
    // What belongs to the whole machine stays as it is.
    '--oom-score-adj=0',
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ]
}
