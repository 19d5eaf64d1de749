import { describe, expect, test } from 'vitest'
import { skipped } from '../packet/testing/proxies.ts'
import { guestProblem, runInGuest } from './testing/guest.ts'

const problem = guestProblem()
const timeoutMs = 240_000

describe.skipIf(problem !== undefined)(`a guest${skipped(problem)}`, { timeout: timeoutMs + 10_000 }, () => {
  test('runs a command as root and tells what it printed, its files and its exit code', async () => {
    const heard: string[] = []
    const script = 'echo "$GREETING"; id -u; echo content >/run/shared/made; touch /etc/guest-was-here; exit 7'
    const result = await runInGuest(['sh', '-c', script], {
      timeoutMs,
      env: { GREETING: "it's me" },
      resultFiles: ['made', 'missing'],
      onOutput: (text) => heard.push(text),
    })
    expect(result).toMatchObject({ exitCode: 7, filesByName: new Map([['made', 'content\n']]) })
    expect(result.output).toMatch(/^it's me\n0\n/)
    expect(result.output).toContain('Read-only file system')
    expect(heard.join('')).toBe(result.output)
  })

  test('is ended when it takes too long', async () => {
    const forever = runInGuest(['sleep', '1000'], { timeoutMs: 2000 })
    await expect(forever).rejects.toThrow('the guest was ended after 2000 ms')
  })

  test('says so when its kernel dies', async () => {
    const dying = runInGuest(['sh', '-c', 'echo c >/proc/sysrq-trigger; sleep 100'], { timeoutMs })
    await expect(dying).rejects.toThrow(/the guest died before its command ended:[^]*Kernel panic/)
  })

  test('without the module, Fairlead does not start, and names it', async () => {
    const noModules = 'echo /bin/false >/proc/sys/kernel/modprobe; rm /run/bin/modprobe'
    const fairlead = `${process.execPath} bin/fairlead.js --proxy-mode=ipvs --hostname-override=node1 --objects=tests/goldens`
    const { exitCode, output } = await runInGuest(['sh', '-c', `${noModules}; ${fairlead}`], { timeoutMs })
    expect(output).toContain('the kernel does not have it; load it with')
    expect(output).toMatch(/modprobe ip_vs\b/)
    expect(exitCode).toBe(1)
  })
})
