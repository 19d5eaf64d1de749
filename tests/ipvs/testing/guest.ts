/**
 * A Linux kernel as a process: Debian's user-mode-linux, which has IPVS where the machine's own kernel may not. It sees
 * the files of the host, and nothing else of it: no network, no devices. Within, commands run as root.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

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

const program = 'linux.uml'
const modulesFolder = '/usr/lib/uml/modules'
const initScript = fileURLToPath(new URL('guest-init.sh', import.meta.url))

/** Why no guest can be started here, or undefined when one can. */
export function guestProblem(): string | undefined {
  if (process.platform !== 'linux') return 'user-mode-linux needs Linux'
  const needed = [
    [program, 'user-mode-linux'],
    ['modprobe', 'kmod'],
    ['ip', 'iproute2'],
  ] as const
  const missing = needed.filter(([name]) => spawnSync('sh', ['-c', `command -v ${name}`], withSbin()).status !== 0)
  if (missing.length > 0) return `not installed: ${missing.map(([, debianPackage]) => debianPackage).join(', ')}`
  return existsSync(modulesFolder) ? undefined : `${modulesFolder} is missing`
}

/** Boots a guest, runs the command in it, and throws it away. Rejects when the guest dies or takes too long. */
export async function runInGuest(command: readonly string[], options: GuestOptions): Promise<GuestResult> {
  const shared = await mkdtemp(join(tmpdir(), 'fairlead-guest-'))
  try {
    await writeFile(join(shared, 'command.sh'), scriptFor(command, options.env ?? {}))
    const console = await runKernel(shared, options)
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

/** The words around what the command prints; the kernel prints before and after. */
const [beginMark, endMark] = ['guest-command-begins', 'guest-command-ends']

async function runKernel(
  shared: string,
  { timeoutMs, memoryMb = 1024, onOutput }: GuestOptions,
): Promise<{ readonly output: string; readonly everything: string }> {
  const args = [
    `mem=${memoryMb}M`,
    'rootfstype=hostfs',
    'rootflags=/',
    'ro',
    `init=${initScript}`,
    // One console for everything; the kernel itself speaks only when it dies.
    'con=null',
    'con0=fd:0,fd:1',
    'loglevel=1',
    `uml_dir=${shared}/uml`,
    `GUEST_SHARED=${shared}`,
    `GUEST_MODULES=${modulesFolder}`,
    `GUEST_BEGIN=${beginMark}`,
    `GUEST_END=${endMark}`,
  ]
  const kernel = spawn('sh', ['-c', endWithParent, program, ...args], {
    ...withSbin(await memoryFolder(memoryMb)),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // Each process of the guest is one of the host: a group of their own ends together.
    detached: true,
  })
  const printed = new GuestConsole(onOutput)
  for (const stream of [kernel.stdout, kernel.stderr]) stream?.setEncoding('utf8').on('data', printed.take)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    endGroup(kernel.pid)
  }, timeoutMs)
  try {
    await new Promise<void>((resolve, reject) => {
      kernel.once('error', reject)
      kernel.once('exit', () => endGroup(kernel.pid))
      kernel.once('close', () => resolve())
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

class GuestConsole {
  everything = ''
  readonly #onOutput: ((text: string) => void) | undefined
  #told = 0

  constructor(onOutput: ((text: string) => void) | undefined) {
    this.#onOutput = onOutput
  }

  /** What lies between the marks. */
  get output(): string {
    const begin = this.everything.indexOf(beginMark)
    if (begin < 0) return ''
    const end = this.everything.lastIndexOf(endMark)
    return this.everything.slice(begin + beginMark.length, end < begin ? undefined : end).trimStart()
  }

  readonly take = (chunk: string): void => {
    // A console ends its lines like a teletype.
    this.everything += chunk.replaceAll('\r', '')
    const { output } = this
    if (output.length > this.#told) this.#onOutput?.(output.slice(this.#told))
    this.#told = output.length
  }
}

/** The guest's memory is a file, best in memory itself; some containers have little room there. */
async function memoryFolder(memoryMb: number): Promise<Readonly<Record<string, string>>> {
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize > memoryMb << 20 ? {} : { TMPDIR: tmpdir() }
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
