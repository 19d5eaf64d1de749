import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** root; on Windows an administrator, with the rights that such a one has after "Run as administrator". */
export function mayChangeMachine(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): boolean {
  if (platform !== 'win32') return process.getuid?.() === 0
  return mayList(join(env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'config'))
}

/** The folder of the registry: only administrators and LocalSystem may look into it. Asking the token would need FFI. */
function mayList(folder: string): boolean {
  try {
    readdirSync(folder)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code !== 'EPERM' && code !== 'EACCES'
  }
}
