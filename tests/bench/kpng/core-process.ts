/** `fairlead kube to-api` as users run it, and what any process has cost so far. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))

export class CoreProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  /** As clients write it. */
  readonly address: string

  private constructor(child: ChildProcess, address: string) {
    this.#child = child
    this.address = address
  }

  static async start(apiServer: string): Promise<CoreProcess> {
    const args = [program, 'kube', 'to-api', `--server=${apiServer}`, '--listen=tcp://127.0.0.1:0']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] })
    const address = await new Promise<string>((resolve, reject) => {
      let output = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const [, found] = /serving the KPNG API.*address="?([^"\s]+)/.exec(output) ?? []
        if (found !== undefined) resolve(found)
      })
      child.once('exit', (code) => reject(new Error(`the core ended with status ${code}:\n${output}`)))
    })
    return new CoreProcess(child, address)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await exited
  }
}

export interface Cost {
  readonly cpuSeconds: number
  readonly megabytes: number
  readonly peakMegabytes: number
}

export function costOf(pid: number): Cost {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6
  return {
    // In clock ticks, of which Linux has 100 a second.
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    megabytes: megabytes('VmRSS'),
    peakMegabytes: megabytes('VmHWM'),
  }
}
