import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { skipped } from '../packet/testing/proxies.ts'
import type { GuestKernelName } from './testing/guest-kernel.ts'
import { chooseGuestHere, chosenGuest, runInGuest } from './testing/guest.ts'

const timeoutMs = 240_000
const ofThisRun = await chosenGuest()
// Others have to rely on it, so it is tested wherever it can be, also where it is not chosen.
const ofOthers = ofThisRun.name === 'qemu-tcg' ? ofThisRun : await chooseGuestHere('qemu-tcg')

const kernels = [...new Set([ofThisRun.name, ofOthers.name])].filter((name) => name !== undefined)
const guests: readonly { readonly kernel: GuestKernelName | undefined; readonly title: string }[] =
  kernels.length > 0
    ? kernels.map((kernel) => ({ kernel, title: `a guest of ${kernel}` }))
    : [{ kernel: undefined, title: `a guest${skipped(ofThisRun.passedOver)}` }]

describe.for(guests)('$title', { timeout: timeoutMs + 10_000 }, ({ kernel }) => {
  test.skipIf(kernel === undefined)(
    'runs a command as root and tells what it printed, its files and its exit code',
    async () => {
      const heard: string[] = []
      const script = 'echo "$GREETING"; id -u; echo content >/run/shared/made; touch /etc/guest-was-here; exit 7'
      const options = {
        timeoutMs,
        env: { GREETING: "it's me" },
        resultFiles: ['made', 'missing'],
        onOutput: (text: string) => heard.push(text),
      }
      const result = await runInGuest(['sh', '-c', script], options, kernel)
      expect(result).toMatchObject({ exitCode: 7, filesByName: new Map([['made', 'content\n']]) })
      expect(result.output).toMatch(/^it's me\n0\n/)
      expect(result.output).toContain('Read-only file system')
      expect(heard.join('')).toBe(result.output)
    },
  )

  test.skipIf(kernel === undefined)('is ended when it takes too long', async () => {
    const forever = runInGuest(['sleep', '1000'], { timeoutMs: 2000 }, kernel)
    await expect(forever).rejects.toThrow('the guest was ended after 2000 ms')
  })

  test.skipIf(kernel === undefined)('says so when its kernel dies', async () => {
    const dying = runInGuest(['sh', '-c', 'echo c >/proc/sysrq-trigger; sleep 100'], { timeoutMs }, kernel)
    await expect(dying).rejects.toThrow(/the guest died before its command ended:[^]*Kernel panic/)
  })

  test.skipIf(kernel === undefined)('without the module, Fairlead does not start, and names it', async () => {
    // The host may have the same kernel, with its modules in the usual place.
    const noModules =
      'echo /bin/false >/proc/sys/kernel/modprobe; rm /run/bin/modprobe; mount -t tmpfs none /lib/modules 2>/dev/null'
    const fairlead = `${process.execPath} bin/fairlead.js --proxy-mode=ipvs --hostname-override=node1 --objects=tests/goldens`
    const { exitCode, output } = await runInGuest(['sh', '-c', `${noModules}; ${fairlead}`], { timeoutMs }, kernel)
    expect(output).toContain('the kernel does not have it; load the module with')
    expect(output).toMatch(/modprobe ip_vs\b/)
    expect(exitCode).toBe(1)
  })
})

describe.skipIf(ofOthers.name === undefined)(
  `without user-mode-linux${skipped(ofOthers.passedOver || undefined)}`,
  () => {
    test('QEMU is chosen where it dies, as it does on processors with AMX', { timeout: 400_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'dying-kernel-'))
      onTestFinished(async () => rm(folder, { recursive: true }))
      const lastWords = 'Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b'
      await writeFile(join(folder, 'linux.uml'), `#!/bin/sh\necho '${lastWords}'\nkill -ABRT $$\n`)
      await chmod(join(folder, 'linux.uml'), 0o755)
      vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`)
      onTestFinished(() => void vi.unstubAllEnvs())
      const { name, passedOver } = await chooseGuestHere()
      expect(name).toMatch(/^qemu-/)
      expect(passedOver).toContain(`user-mode-linux: the guest died before its command ended: ${lastWords}`)
    })
  },
)
