/** Real kubectl, where the machine has it. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { deadlineMs } from './deadline.ts'
import { eventually } from './eventually.ts'

const program = process.env['KUBECTL'] ?? 'kubectl'

/** Undefined when kubectl works; otherwise the reason why tests that need it are skipped. */
export const whyNoKubectl =
  spawnSync(program, ['version', '--client'], { timeout: deadlineMs }).status === 0
    ? undefined
    : `no ${program} found; install it or set KUBECTL`

/** What it prints, warnings last; an error when it fails. */
export async function kubectl(kubeconfig: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(program, ['--kubeconfig', kubeconfig, ...args], {
    timeout: deadlineMs,
    env: environment(kubeconfig),
  })
  return stdout + stderr
}

/** A kubectl that goes on until it is disposed of, such as `get --watch`. */
export class RunningKubectl implements AsyncDisposable {
  stdout = ''
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>

  constructor(kubeconfig: string, ...args: readonly string[]) {
    this.#child = spawn(program, ['--kubeconfig', kubeconfig, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: environment(kubeconfig),
    })
    this.#closed = once(this.#child, 'close')
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
  }

  async says(text: string): Promise<void> {
    await eventually(() => {
      if (!this.stdout.includes(text)) throw new Error(`kubectl has not said "${text}" but:\n${this.stdout}`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#closed
  }
}

/** Its caches go next to the kubeconfig of the test, not into the user's home. */
function environment(kubeconfig: string): NodeJS.ProcessEnv {
  return { ...process.env, KUBECACHEDIR: `${kubeconfig}-cache` }
}
