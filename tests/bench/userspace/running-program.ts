/** A process of the benchmark: it says in one line of JSON where it listens, and ends when its input does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export type Command = readonly [program: string, ...args: readonly string[]]

export class RunningProgram implements AsyncDisposable {
  readonly #command: Command
  readonly #child
  readonly #lines

  constructor(command: Command) {
    const [program, ...args] = command
    this.#command = command
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.on('error', () => {}) // seen as the end of its output
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async nextLine<T>(): Promise<T> {
    const line = await this.#lines.next()
    if (line.done === true) throw new Error(`"${this.#command.join(' ')}" ended before it had reported`)
    return JSON.parse(line.value) as T
  }

  /** Of all its threads and children so far, in user code and in the kernel. */
  get cpuMs(): number {
    return sum(this.#family(), (pid) => {
      // After the name, which may hold anything, come the fields from the third on; clock ticks are hundredths.
      const fields = proc(pid, 'stat').split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) * 10
    })
  }

  get residentMb(): number {
    return sum(this.#family(), (pid) => (Number(/^VmRSS:\s+(\d+) kB/m.exec(proc(pid, 'status'))?.[1]) * 1024) / 1e6)
  }

  get descriptorLimit(): number {
    return Number(/^Max open files\s+(\d+)/m.exec(proc(this.#pid, 'limits'))?.[1])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }

  get #pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error(`"${this.#command.join(' ')}" did not start`)
    return pid
  }

  /** The process and those it started. */
  #family(): readonly number[] {
    const children = proc(this.#pid, `task/${this.#pid}/children`).trim().split(' ').filter(Boolean)
    return [this.#pid, ...children.map(Number)]
  }
}

function proc(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'utf8')
}

function sum(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + of(pid), 0)
}
