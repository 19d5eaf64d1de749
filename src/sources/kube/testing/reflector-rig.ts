import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { KubeClient } from '../kube-client.ts'
import { loadKubeAccess } from '../access/kube-access.ts'
import { Reflector } from '../reflector/reflector.ts'
import type { RecordedItem } from './recording-sink.ts'
import { eventually } from './eventually.ts'
import { FaultServer } from './fault-server.ts'
import { PauseClock } from './pause-clock.ts'
import { RecordingLogger } from './recording-logger.ts'
import { RecordingSink } from './recording-sink.ts'

interface RigOptions {
  readonly mayBeAbsent?: boolean
  readonly usesStreamingLists?: boolean
  readonly mayRead?: Promise<unknown>
}

/** A reflector that watches a fault server. The test controls the time of its pauses and of its requests. */
export class ReflectorRig implements AsyncDisposable {
  readonly server: FaultServer
  readonly sink = new RecordingSink()
  readonly log = new RecordingLogger()
  /** For the pauses between requests. */
  readonly pauses = new PauseClock()
  /** For the time limits within requests. */
  readonly limits: FakeClock
  readonly client: KubeClient
  readonly reflector: Reflector<RecordedItem>
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(server: FaultServer, client: KubeClient, limits: FakeClock, options: RigOptions) {
    this.server = server
    this.client = client
    this.limits = limits
    this.reflector = new Reflector({
      client,
      query: { kind: 'Thing', resource: 'things', path: '/api/v1/things', mayBeAbsent: options.mayBeAbsent ?? false },
      usesStreamingLists: options.usesStreamingLists ?? true,
      sink: this.sink,
      clock: this.pauses,
      random: () => 0,
      log: this.log,
      ...(options.mayRead && { mayRead: options.mayRead }),
    })
  }

  static async make(options: RigOptions = {}): Promise<ReflectorRig> {
    const server = await FaultServer.start()
    const limits = new FakeClock()
    const access = await loadKubeAccess({ master: server.url })
    const client = new KubeClient({ access, version: 'test', qps: -1, clock: limits })
    return new ReflectorRig(server, client, limits, options)
  }

  run(): this {
    this.#running = this.reflector.run(this.#stop.signal)
    return this
  }

  async diary(...expected: string[]): Promise<void> {
    await eventually(`the diary to have ${expected.length} entries; it has:\n${this.sink.diary.join('\n')}`, () => {
      return this.sink.diary.length >= expected.length
    }).catch((error: unknown) => {
      throw new Error(`expected:\n${expected.join('\n')}\nfound:\n${this.sink.diary.join('\n')}`, { cause: error })
    })
  }

  requests(count: number): Promise<void> {
    return eventually(`request number ${count}`, () => this.server.received.length >= count)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.client[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}
