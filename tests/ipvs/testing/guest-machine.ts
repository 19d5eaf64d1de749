/** Starts a guest: a Linux kernel as a process of the host, with the host's files. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GuestConsole, beginMark, endMark } from './guest-console.ts'
import type { GuestKernel } from './guest-kernel.ts'

export interface GuestOptions {
  /** The guest is ended when it takes longer. */
  readonly timeoutMs: number
  readonly env?: Readonly<Record<string, string>>
  readonly memoryMb?: number
  /** What the command prints, as it comes. */
  readonly onOutput?: (text: string) => void
  /** Files of /run/shared that are wanted when the command has ended. */
  readonly resultFiles?: readonly string[]
}

export interface GuestResult {
  readonly exitCode: number
  readonly output: string
  /** The wanted files that exist, by name. */
  readonly filesByName: ReadonlyMap<string, string>
}

const initScript = fileURLToPath(new URL('guest-init.sh', import.meta.url))

/** Boots a guest, runs the command in it, and throws it away. Rejects when the guest dies or takes too long. */
export async function runOnKernel(
  kernel: GuestKernel,
  command: readonly string[],
  options: GuestOptions,
): Promise<GuestResult> {
  const shared = await mkdtemp(join(tmpdir(), 'fairlead-guest-'))
  try {
    await writeFile(join(shared, 'command.sh'), scriptFor(command, options.env ?? {}))
    const console = await runKernel(kernel, shared, options)
    const exitCode = await readFile(join(shared, 'exit-code'), 'utf8').catch(() => undefined)
    if (exitCode === undefined) throw new Error(`the guest died before its command ended:\n${console.everything}`)
    const files = (options.resultFiles ?? []).map(async (name) => {
      const text = await readFile(join(shared, name), 'utf8').catch(() => undefined)
      return text === undefined ? [] : [[name, text] as const]
    })
    return {
      exitCode: Number(exitCode),
      output: console.output,
      filesByName: new Map((await Promise.all(files)).flat()),
    }
  } finally {
    await rm(shared, { recursive: true, force: true })
  }
}

/** The packages that have the programs which the host does not have. */
export function missingPackages({ programs }: GuestKernel): readonly string[] {
  const needed = [...programs, ['modprobe', 'kmod'], ['ip', 'iproute2']] as const
  return needed
    .filter(([name]) => spawnSync('sh', ['-c', `command -v ${name}`], withSbin()).status !== 0)
    .map(([, debianPackage]) => debianPackage)
}

async function runKernel(
  kernel: GuestKernel,
  shared: string,
  { timeoutMs, memoryMb = 1024, onOutput }: GuestOptions,
): Promise<{ readonly output: string; readonly everything: string }> {
  // The kernel itself speaks only when it dies.
  const parameters = ['loglevel=1', `GUEST_BEGIN=${beginMark}`, `GUEST_END=${endMark}`]
  const { program, args, env } = await kernel.start({ memoryMb, shared, initScript, parameters })
  const machine = spawn('sh', ['-c', endWithParent, program, ...args], {
    ...withSbin(env),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // Each process of user-mode-linux is one of the host: a group of their own ends together.
    detached: true,
  })
  const printed = new GuestConsole(onOutput)
  for (const stream of [machine.stdout, machine.stderr]) stream?.setEncoding('utf8').on('data', printed.take)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    endGroup(machine.pid)
  }, timeoutMs)
  try {
    await new Promise<void>((resolve, reject) => {
      machine.once('error', reject)
      machine.once('exit', () => endGroup(machine.pid))
      machine.once('close', () => resolve())
    })
  } finally {
    clearTimeout(timer)
  }
  if (isLate) throw new Error(`the guest was ended after ${timeoutMs} ms:\n${printed.everything}`)
  return printed
}

/** The pipe ends when this process does, however that happens; then the whole group goes. */
const endWithParent = '(cat <&3 >/dev/null; kill -KILL 0) & exec "$0" "$@" 3<&-'

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // They are gone already.
  }
}

function withSbin(env: Readonly<Record<string, string>> = {}): { readonly env: NodeJS.ProcessEnv } {
  return { env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, ...env } }
}

function scriptFor(command: readonly string[], env: Readonly<Record<string, string>>): string {
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}`)
  return [...exports, `cd ${quote(process.cwd())}`, command.map(quote).join(' '), ''].join('\n')
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
