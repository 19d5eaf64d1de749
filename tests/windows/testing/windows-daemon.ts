/** The daemon on Windows, from the installed package, with its servers at ports that are free. */
import { freePorts } from '../../cluster/testing/free-ports.ts'
import { get } from '../../e2e/testing/clients.ts'
import type { HttpAnswer } from '../../e2e/testing/clients.ts'
import { eventually } from './eventually.ts'
import { fairleadOnWindows } from './installed-package.ts'
import { WindowsProcess } from './windows-process.ts'
import type { WindowsStart } from './windows-process.ts'

export class WindowsDaemon implements AsyncDisposable {
  readonly process: WindowsProcess
  readonly #ports: { readonly health: number; readonly metrics: number }

  private constructor(process: WindowsProcess, ports: { readonly health: number; readonly metrics: number }) {
    this.process = process
    this.#ports = ports
  }

  /** Waits until its servers answer. */
  static async start({ args = [], ...options }: WindowsStart): Promise<WindowsDaemon> {
    const ports = await freePorts('health', 'metrics')
    const servers = [
      `--healthz-bind-address=127.0.0.1:${ports.health}`,
      `--metrics-bind-address=127.0.0.1:${ports.metrics}`,
    ]
    const node = ['--hostname-override=node1', '--node-address=10.0.0.5']
    const started = await startFairlead([...args, ...node, ...servers], { timeLimitMs: 240_000, ...options })
    const daemon = new WindowsDaemon(started, ports)
    try {
      await eventually(() => daemon.health('/livez'))
      await eventually(() => daemon.metrics('/healthz'))
    } catch (error) {
      await using _ended = daemon
      throw new Error(`The daemon does not answer. It wrote:\n${started.stdout}${started.stderr}`, { cause: error })
    }
    return daemon
  }

  health(path: string): Promise<HttpAnswer> {
    return get(`http://127.0.0.1:${this.#ports.health}${path}`)
  }

  metrics(path: string): Promise<HttpAnswer> {
    return get(`http://127.0.0.1:${this.#ports.metrics}${path}`)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]()
  }
}

/** Any command of the installed package. It has its native parts beside it, so it needs no help to find them. */
export function startFairlead(args: readonly string[], options: WindowsStart = {}): Promise<WindowsProcess> {
  return WindowsProcess.start(fairleadOnWindows, { ...options, args, env: { NODE_PATH: '', ...options.env } })
}

/** Runs a command to its end. */
export async function runFairlead(
  args: readonly string[],
  options: WindowsStart = {},
): Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }> {
  await using started = await startFairlead(args, options)
  const exitCode = await started.ended()
  return { exitCode, stdout: started.stdout, stderr: started.stderr }
}
