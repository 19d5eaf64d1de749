/** The tests that every Sysctl passes: with the kernel, in a folder, or in memory. */
import { expect, test } from 'vitest'
import { ensureSysctl } from './sysctl.ts'
import type { Sysctl } from './sysctl.ts'

/** `make` returns settings with `net/ipv4/ip_default_ttl` = 64 and without `net/ipv4/no_such_setting`. */
export function sysctlContract(name: string, make: () => Promise<Sysctl>): void {
  test(`${name} reads a value without its newline`, async () => {
    expect(await (await make()).read('net/ipv4/ip_default_ttl')).toBe('64')
  })

  test(`${name} reads back what was written, also when it is shorter than before`, async () => {
    const sysctl = await make()
    for (const value of ['128', '9', '10']) {
      await sysctl.write('net/ipv4/ip_default_ttl', value)
      expect(await sysctl.read('net/ipv4/ip_default_ttl')).toBe(value)
    }
  })

  test(`${name} knows nothing of a setting that is not there, and refuses to make it`, async () => {
    const sysctl = await make()
    expect(await sysctl.read('net/ipv4/no_such_setting')).toBeUndefined()
    await expect(sysctl.write('net/ipv4/no_such_setting', '1')).rejects.toMatchObject({
      name: 'SysctlError',
      reason: 'not-found',
      message: expect.stringContaining('net/ipv4/no_such_setting to 1'),
    })
    expect(await sysctl.read('net/ipv4/no_such_setting')).toBeUndefined()
  })

  test(`${name} is written to only when the value differs`, async () => {
    const sysctl = await make()
    expect(await ensureSysctl(sysctl, 'net/ipv4/ip_default_ttl', '64')).toBe(false)
    expect(await ensureSysctl(sysctl, 'net/ipv4/ip_default_ttl', '65')).toBe(true)
    expect(await ensureSysctl(sysctl, 'net/ipv4/ip_default_ttl', '65')).toBe(false)
  })
}
