/** The kernel's settings that are small text files: /proc/sys, and similar folders (/sys/module, /proc/self). */
export interface Sysctl {
  /** Without the final newline. Returns nothing if there is no such setting, or it cannot be read. */
  read(path: string): Promise<string | undefined>
  /** Sets `path` (e.g. `net/ipv4/ip_forward`); rejects with a SysctlError. */
  write(path: string, value: string): Promise<void>
}

export class SysctlError extends Error {
  override readonly name = 'SysctlError'
  readonly reason: 'not-found' | 'not-permitted' | 'read-only' | 'refused'

  constructor(reason: SysctlError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Writes only if the value differs. Returns whether it wrote. */
export async function ensureSysctl(sysctl: Sysctl, path: string, value: string): Promise<boolean> {
  if ((await sysctl.read(path)) === value) return false
  await sysctl.write(path, value)
  return true
}
