/** A network namespace for a test, so that it can use the real kernel without touching the host. */
import { execFileSync, spawnSync } from 'node:child_process'
import { isMainThread } from 'node:worker_threads'
import koffi from 'koffi'

/** Why tests that need a namespace and these programs cannot run here, if they cannot. */
export function missingForNamespace(...programs: readonly string[]): string | undefined {
  if (spawnSync('unshare', ['--net', 'true']).status !== 0) return 'no right to make network namespaces'
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

/**
 * Moves this process into an empty namespace, with the loopback device up. New sockets and programs are in it. Vitest runs
 * each test file in its own process, so other tests are not affected.
 */
export function enterFreshNamespace(): void {
  enterEmptyNamespace()
  run('ip link set lo up')
}

/** The same with nothing up in it. It starts no program, which is slow on some machines. */
export function enterEmptyNamespace(): void {
  // A namespace belongs to a thread; children and sockets come from the main one.
  if (!isMainThread) throw new Error('cannot enter a network namespace from a worker thread: run vitest with forks')
  const newNetwork = 0x40000000
  const unshare = koffi.load(null).func('int unshare(int flags)') as (flags: number) => number
  if (unshare(newNetwork) !== 0) throw new Error(`cannot make a network namespace: errno ${koffi.errno()}`)
}

export function run(commandLine: string): string {
  return execFileSync('sh', ['-c', commandLine], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
