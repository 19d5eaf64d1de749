/** A daemon with the console, that can be killed and started again at the same address. */
import { freePorts } from '../../cluster/testing/free-ports.ts'
import { get } from '../../e2e/testing/clients.ts'
import { DaemonProcess } from '../../e2e/testing/daemon-process.ts'
import { eventually } from '../../e2e/testing/eventually.ts'

export class ConsoleDaemon implements AsyncDisposable {
  readonly url: string
  readonly #args: readonly string[]
  #daemon: DaemonProcess

  private constructor(url: string, args: readonly string[], daemon: DaemonProcess) {
    this.url = url
    this.#args = args
    this.#daemon = daemon
  }

  static async start(...flags: readonly string[]): Promise<ConsoleDaemon> {
    const { port } = await freePorts('port')
    const args = [...flags, `--console-bind-address=127.0.0.1:${port}`]
    const started = new ConsoleDaemon(`http://127.0.0.1:${port}`, args, await DaemonProcess.start(...args))
    try {
      await started.#isServed()
    } catch (error) {
      await started[Symbol.asyncDispose]()
      throw error
    }
    return started
  }

  get process(): DaemonProcess['process'] {
    return this.#daemon.process
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.#daemon.ports[1]}`
  }

  /** As when the machine runs out of memory. */
  async kill(): Promise<void> {
    this.#daemon.process.send('SIGKILL')
    await this.#daemon.process.ended()
  }

  async startAgain(): Promise<void> {
    this.#daemon = await DaemonProcess.start(...this.#args)
    await this.#isServed()
  }

  async #isServed(): Promise<void> {
    await eventually(async () => {
      if (!this.#daemon.process.isRunning) throw new Error(`the daemon has ended:\n${this.#daemon.process.stderr}`)
      const { status } = await get(this.url)
      if (status !== 200) throw new Error(`the console answers ${status}`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon[Symbol.asyncDispose]()
  }
}
