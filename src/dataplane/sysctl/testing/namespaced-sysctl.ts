/** The real Sysctl in its own network namespace, so that tests can write to the kernel without touching the host. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { SysctlError } from '../sysctl.ts'
import type { Sysctl } from '../sysctl.ts'

export type SysctlRequest =
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly value: string }

export type SysctlResponse =
  | { readonly kind: 'ready' | 'done' }
  | { readonly kind: 'value'; readonly value: string | undefined }
  | { readonly kind: 'refused'; readonly reason: SysctlError['reason']; readonly message: string }

export function canMakeNamespaces(): boolean {
  return spawnSync('unshare', ['--net', '--mount', 'true']).status === 0
}

/** With `readOnlyAt`, it uses a read-only mount of /proc/sys at that folder, as in containers. */
export async function namespacedSysctl(readOnlyAt?: string): Promise<Sysctl & AsyncDisposable> {
  const script = fileURLToPath(new URL('./sysctl-process.ts', import.meta.url))
  const prepare = readOnlyAt === undefined ? '' : `mount -o bind,ro /proc/sys "$ROOT" && `
  const child = spawn(
    'unshare',
    ['--net', '--mount', 'sh', '-c', `${prepare}exec "$NODE" --import tsx "$SCRIPT" "$ROOT"`],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, NODE: process.execPath, SCRIPT: script, ROOT: readOnlyAt ?? '/proc/sys' },
    },
  )
  const exited = once(child, 'exit')
  const response = async (): Promise<SysctlResponse> => {
    const early = exited.then(([code]) => Promise.reject(new Error(`sysctl-process ended with code ${code}`)))
    const [message] = (await Promise.race([once(child, 'message'), early])) as [SysctlResponse]
    return message
  }
  const ask = async (request: SysctlRequest): Promise<SysctlResponse> => {
    const answer = response()
    child.send(request)
    return answer
  }
  await response()
  return {
    async read(path) {
      const answer = await ask({ kind: 'read', path })
      return answer.kind === 'value' ? answer.value : undefined
    },
    async write(path, value) {
      const answer = await ask({ kind: 'write', path, value })
      if (answer.kind === 'refused') throw new SysctlError(answer.reason, answer.message)
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await exited
    },
  }
}
