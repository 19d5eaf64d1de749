/** Debian's user-mode-linux: a kernel as an ordinary program. No root, no virtual machine; it dies on some processors. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import type { GuestKernel } from './guest-kernel.ts'

const modulesFolder = '/usr/lib/uml/modules'

export const userModeLinux: GuestKernel = {
  name: 'user-mode-linux',
  programs: [['linux.uml', 'user-mode-linux']],
  missing: () => (existsSync(modulesFolder) ? undefined : `${modulesFolder} is missing`),
  bootLimitMs: 120_000,
  start: async ({ memoryMb, shared, initScript, parameters }) => ({
    program: 'linux.uml',
    args: [
      `mem=${memoryMb}M`,
      'rootfstype=hostfs',
      'rootflags=/',
      'ro',
      `init=${initScript}`,
      // One console for everything.
      'con=null',
      'con0=fd:0,fd:1',
      `uml_dir=${shared}/uml`,
      'GUEST_OFF_KEY=o',
      `GUEST_SHARED_MOUNT=hostfs:${shared}`,
      `GUEST_MODULES=${modulesFolder}`,
      ...parameters,
    ],
    env: await memoryFolder(memoryMb),
  }),
}

/** The guest's memory is a file, best in memory itself; some containers have little room there. */
async function memoryFolder(memoryMb: number): Promise<Readonly<Record<string, string>>> {
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize > memoryMb << 20 ? {} : { TMPDIR: tmpdir() }
}
