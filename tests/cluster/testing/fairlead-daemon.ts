import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from './free-ports.ts'
import { ServerProcess } from './server-process.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

/** The daemon as a process of its own, from the sources, in userspace mode. */
export class FairleadDaemon implements AsyncDisposable {
  readonly healthUrl: string
  readonly process: ServerProcess

  private constructor(
    ports: { readonly health: number; readonly metrics: number },
    folder: string,
    flags: readonly string[],
  ) {
    this.healthUrl = `http://127.0.0.1:${ports.health}`
    const run = `import(${JSON.stringify(main)}).then(async ({ main }) => { process.exitCode = await main(process.argv.slice(1)) })`
    this.process = new ServerProcess(
      'fairlead',
      process.execPath,
      [
        '--import=tsx',
        `--eval=${run}`,
        '--',
        '--proxy-mode=userspace',
        `--healthz-bind-address=127.0.0.1:${ports.health}`,
        `--metrics-bind-address=127.0.0.1:${ports.metrics}`,
        ...flags,
      ],
      join(folder, 'fairlead.log'),
    )
  }

  /** Resolves when it has synced for the first time. */
  static async start(folder: string, flags: readonly string[]): Promise<FairleadDaemon> {
    const daemon = new FairleadDaemon(await freePorts('health', 'metrics'), folder, flags)
    try {
      await daemon.process.waitUntil('healthy', async () => (await fetch(`${daemon.healthUrl}/healthz`)).ok)
      return daemon
    } catch (error) {
      await daemon[Symbol.asyncDispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]()
  }
}
