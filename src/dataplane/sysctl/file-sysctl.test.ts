import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { fileSysctl } from './file-sysctl.ts'
import { sysctlContract } from './sysctl.contract.ts'
import { canMakeNamespaces, namespacedSysctl } from './testing/namespaced-sysctl.ts'

const cleanups: (() => PromiseLike<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function folder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'fairlead-sysctl-'))
  cleanups.push(() => rm(root, { recursive: true }))
  return root
}

async function inNamespace(readOnlyAt?: string) {
  const sysctl = await namespacedSysctl(readOnlyAt)
  cleanups.push(() => sysctl[Symbol.asyncDispose]())
  return sysctl
}

sysctlContract('fileSysctl on a folder', async () => {
  const root = await folder()
  await mkdir(join(root, 'net/ipv4'), { recursive: true })
  await writeFile(join(root, 'net/ipv4/ip_default_ttl'), '64\n')
  return fileSysctl({ root })
})

describe.skipIf(!canMakeNamespaces())('on the kernel (skipped without the right to make namespaces)', () => {
  sysctlContract('fileSysctl on /proc/sys', () => inNamespace())

  test('a value that the kernel does not take is refused and changes nothing', async () => {
    const sysctl = await inNamespace()
    await expect(sysctl.write('net/ipv4/ip_default_ttl', '70000')).rejects.toMatchObject({ reason: 'refused' })
    expect(await sysctl.read('net/ipv4/ip_default_ttl')).toBe('64')
  })

  test('a read-only /proc/sys is named as such, with a way out', async () => {
    const sysctl = await inNamespace(await folder())
    expect(await sysctl.read('net/ipv4/ip_default_ttl')).toBe('64')
    await expect(sysctl.write('net/ipv4/ip_default_ttl', '65')).rejects.toMatchObject({
      reason: 'read-only',
      message: expect.stringContaining('run the container privileged'),
    })
  })
})
