/** A network namespace of its own for a test, so that it may use the real kernel without touching the host. */
import { execFileSync, spawnSync } from 'node:child_process'
import { isMainThread } from 'node:worker_threads'
import koffi from 'koffi'

/** Why the tests that need these programs, and a namespace, cannot run here; undefined when they can. */
export function missingForNamespace(...programs: readonly string[]): string | undefined {
  if (spawnSync('unshare', ['--net', 'true']).status !== 0) return 'no right to make network namespaces'
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

/**
 * Moves this process into an empty namespace, with the loopback device up. Sockets and programs that it opens from now
 * on are there. Vitest gives each test file a process of its own, so nobody else notices.
 */
export function enterFreshNamespace(): void {
  enterEmptyNamespace()
  run('ip link set lo up')
}

/** The same with nothing up in it. It starts no program, which is slow in some places. */
export function enterEmptyNamespace(): void {
  // A namespace belongs to a thread; children and sockets come from the main one.
  if (!isMainThread) throw new Error('cannot enter a network namespace from a worker thread: run vitest with forks')
  const newNetwork = 0x40000000
  const unshare = koffi.load(null).func('int unshare(int flags)') as (flags: number) => number
  if (unshare(newNetwork) !== 0) throw new Error(`cannot make a network namespace: errno ${koffi.errno()}`)
}

/** Runs a command line in the current namespace; throws when it fails. */
export function run(commandLine: string): string {
  return execFileSync('sh', ['-c', commandLine], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
