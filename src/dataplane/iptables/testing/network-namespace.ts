/** A network namespace for a test, with its own rules. It is gone afterwards. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Exec } from '../../exec/exec.ts'
import { processExec } from '../../exec/exec.ts'

export interface NetworkNamespace extends AsyncDisposable {
  /** Runs programs inside. */
  readonly exec: Exec
  /** For setns. */
  readonly path: string
  /** The xtables lock of the programs inside. By default all namespaces of a host share one. */
  readonly lockFile: string
}

export async function createNamespace(): Promise<NetworkNamespace> {
  // The namespace exists as long as this child process, which ends when we do, because its standard input is closed.
  const keeper = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(keeper.stdout, 'data')
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-netns-'))
  const path = `/proc/${keeper.pid}/ns/net`
  const lockFile = join(folder, 'xtables.lock')
  return {
    path,
    lockFile,
    exec: (program, args, options) =>
      processExec('nsenter', [`--net=${path}`, program, ...args], {
        ...options,
        env: { ...options.env, XTABLES_LOCKFILE: lockFile },
      }),
    async [Symbol.asyncDispose]() {
      const gone = once(keeper, 'exit')
      keeper.stdin.end()
      await gone
      await rm(folder, { recursive: true })
    },
  }
}

/** Why tests with real tools cannot run here, if they cannot. */
export function missingForRealTools(tools: readonly string[]): string | undefined {
  if (process.getuid?.() !== 0) return 'not root'
  const works = (program: string, args: readonly string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0
  if (!works('unshare', ['--net', 'true'])) return 'no network namespaces'
  const missing = tools.filter((tool) => !works(tool, ['--version']))
  return missing.length === 0 ? undefined : `no ${missing.join(', ')}`
}
