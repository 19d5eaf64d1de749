/**
 * A network namespace that lives as long as this process holds it open: it has no name, so nothing of it can be left
 * behind, not even by a test run that is killed.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import koffi from 'koffi'

/** Where the kernel counts sockets and processes that are made at once to. */
interface Cgroup {
  enter<T>(work: () => T): T
}

export class Namespace implements Disposable {
  readonly #fd: number
  #cgroup: Cgroup | undefined

  private constructor(fd: number) {
    this.#fd = fd
  }

  /** Empty, with the loopback device up. */
  static make(): Namespace {
    const made = new Namespace(newNamespace())
    made.ip('link set lo up')
    return made
  }

  /** The one that this process is in. */
  static own(): Namespace {
    return new Namespace(openNamespace())
  }

  /** For `ip link set … netns PATH`. */
  get path(): string {
    return `/proc/${process.pid}/fd/${this.#fd}`
  }

  /**
   * Does the work with this thread inside the namespace. Sockets and processes that it makes stay there, as long as it
   * makes them at once: a name lookup, for one, would let Node make the socket after the thread has left.
   */
  enter<T>(work: () => T): T {
    const cgroup = this.#cgroup
    return inside(this.#fd, () => (cgroup === undefined ? work() : cgroup.enter(work)))
  }

  /** From now on, its sockets and processes belong to this cgroup. */
  useCgroup(cgroup: Cgroup): void {
    this.#cgroup = cgroup
  }

  /** Runs lines of `ip`, all in one process. */
  ip(...lines: readonly string[]): void {
    this.run('ip', ['-batch', '-'], { input: lines.join('\n') })
  }

  setSysctl(name: string, value: string | number): void {
    this.enter(() => writeFileSync(`/proc/sys/net/${name.replaceAll('.', '/')}`, String(value)))
  }

  /** Runs a program to its end and returns what it printed; throws when it fails. */
  run(program: string, args: readonly string[], { input = '' }: { readonly input?: string } = {}): string {
    const done = this.enter(() =>
      spawnSync(program, args, { input, encoding: 'utf8', timeout: 30_000, maxBuffer: 2 ** 28 }),
    )
    if (done.status === 0) return done.stdout
    const why = done.error?.message ?? `exit code ${done.status}: ${done.stderr}`
    throw new Error(`"${[program, ...args].join(' ')}" failed in a namespace of the test: ${why}\n${input}`)
  }

  /** Starts a program; the kernel ends it when the test process dies, however that happens. */
  start(
    program: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): ChildProcessByStdio<null, Readable, Readable> {
    return this.enter(() =>
      spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
    )
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }
}

/** Why no namespaces can be made here, or undefined when they can. */
export function namespaceProblem(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces exist on Linux only'
  if (!isMainThread) return 'a worker thread cannot change its network namespace for child processes'
  return spawnSync('unshare', ['--net', 'true']).status === 0 ? undefined : 'no right to make network namespaces'
}

const networkNamespace = 0x40000000

function newNamespace(): number {
  const home = openNamespace()
  try {
    if (unshare(networkNamespace) !== 0) throw new Error(`cannot make a network namespace: errno ${koffi.errno()}`)
    return openNamespace()
  } finally {
    setns(home, networkNamespace)
    closeSync(home)
  }
}

function inside<T>(fd: number, work: () => T): T {
  const home = openNamespace()
  try {
    if (setns(fd, networkNamespace) !== 0) throw new Error(`cannot enter a network namespace: errno ${koffi.errno()}`)
    return work()
  } finally {
    setns(home, networkNamespace)
    closeSync(home)
  }
}

function openNamespace(): number {
  return openSync('/proc/thread-self/ns/net', 'r')
}

type Call = (...args: readonly number[]) => number

const [unshare, setns] = linuxCalls()

/** Other systems do not have them; there the tests are skipped, and nobody calls them. */
function linuxCalls(): readonly [unshare: Call, setns: Call] {
  if (process.platform !== 'linux') return [() => -1, () => -1]
  const libc = koffi.load(null)
  return [libc.func('int unshare(int flags)') as Call, libc.func('int setns(int fd, int kind)') as Call]
}
