/** A relay in a process of its own, with limits of its own: what it holds and what it takes can be seen from outside. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { ListenerStats, RelayStats, SocketAddress } from '../relay.ts'

export interface RelayProgramOptions {
  readonly endpoint: SocketAddress
  readonly engine: 'node' | { readonly program: string }
  /** Replaces the limit of open files that it would read from the system. */
  readonly maxDescriptors?: number
}

interface ProcessStats extends ListenerStats, Pick<RelayStats, 'descriptors'> {
  readonly warnings: readonly string[]
  readonly errors: readonly unknown[]
}

export interface RelayProcess {
  readonly address: SocketAddress
  /** The process that has the sockets. */
  readonly pid: number
  /** The process that started it, which may be the same. */
  readonly parent: number
  /** Ends the program at once, as when there is no memory left. */
  kill(this: void): Promise<void>
  /** Rejects when the process is dead. */
  stats(this: void): Promise<ProcessStats>
  openDescriptors(this: void): number
  residentBytes(this: void): number
}

/** Ended with the test. */
export async function relayProcess(
  options: RelayProgramOptions,
  { openFiles, inherited = '/dev/null' }: { readonly openFiles: number; readonly inherited?: string },
): Promise<RelayProcess> {
  const program = fileURLToPath(new URL('relay-program.ts', import.meta.url))
  const command = `ulimit -n ${openFiles}; exec "$0" --import tsx "$@" 9<${inherited}`
  const child = spawn('sh', ['-c', command, process.execPath, program, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.stdin.end()
    await exited
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async <T>() => {
    const line = await lines.next()
    if (line.done === true) throw new Error('the relay has died')
    return JSON.parse(line.value) as T
  }
  const { address, pid } = await read<{ address: SocketAddress; pid: number }>()
  return {
    address,
    pid,
    parent: child.pid ?? 0,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    stats() {
      child.stdin.write('stats\n')
      return read<ProcessStats>()
    },
    openDescriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    residentBytes: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024,
  }
}
