import { describe, expect, test } from 'vitest'
import { ExecError } from '../../exec/exec.ts'
import type { Exec, ExecResult } from '../../exec/exec.ts'
import { findNft, supportsNft } from './find-nft.ts'

const { signal } = new AbortController()
const goodKernel = { kernelRelease: '6.1.0-18-amd64', env: {} }

/** An nft of this version that answers to scripts as the test says. */
function nft(version: string, check: (script: string) => Partial<ExecResult> = () => ({})) {
  const commands: string[] = []
  const exec: Exec = async (program, args, { stdin = '' }) => {
    commands.push([program, ...args].join(' '))
    const answer = args[0] === '--version' ? { stdout: `${version}\n` } : check([stdin].flat().join(''))
    return { exitCode: 0, signal: null, stdout: '', stderr: '', ...answer }
  }
  return { exec, commands }
}

const refused = (stderr: string): Partial<ExecResult> => ({ exitCode: 1, stderr: `${stderr}\n` })

describe('the nft of this machine', () => {
  for (const version of ['1.0.1', '1.0.6', '1.1.3', '1.10.0', '2.0'])
    test(`${version} will do`, async () => {
      const { exec } = nft(`nftables v${version} (Fearless Fosdick #2)`)
      const found = await findNft({ family: 'ipv4', exec, ...goodKernel }, signal)
      expect(found).toEqual({ version, hasObjectComments: true })
    })

  for (const version of ['1.0.0', '0.9.8', '0.9.10'])
    test(`${version} is too old`, async () => {
      const { exec } = nft(`nftables v${version} (Topsy)`)
      await expect(findNft({ family: 'ipv4', exec, ...goodKernel }, signal)).rejects.toMatchObject({
        reason: 'no-tool',
        message: `nft is version ${version}, and the nftables mode needs 1.0.1: install a newer one`,
      })
    })

  test('may be missing', async () => {
    const exec: Exec = async (program) => {
      throw new ExecError('not-found', `there is no program "${program}"`)
    }
    await expect(findNft({ family: 'ipv4', exec, ...goodKernel }, signal)).rejects.toMatchObject({
      reason: 'no-tool',
      message: 'cannot ask nft for its version: there is no program "nft"',
    })
  })

  test('may be something else', async () => {
    const { exec } = nft('busybox')
    await expect(findNft({ family: 'ipv4', exec, ...goodKernel }, signal)).rejects.toThrow('is it really nft?')
  })

  test('is asked about its own family, and changes nothing', async () => {
    const scripts: string[] = []
    const { exec, commands } = nft('nftables v1.0.6', (script) => {
      scripts.push(script)
      return {}
    })
    await supportsNft({ family: 'ipv6', exec, ...goodKernel }, signal)
    expect(commands).toEqual(['nft --version', 'nft --check -f -', 'nft --check -f -'])
    expect(scripts[0]).toBe('add table ip6 fairlead { comment "test" ; }\n')
  })

  test('may not know comments of tables', async () => {
    const { exec } = nft('nftables v1.0.6', (script) =>
      script.includes('comment') ? refused('/dev/stdin:1:1-9: Error: Could not process rule: Invalid argument') : {},
    )
    const found = await findNft({ family: 'ipv4', exec, ...goodKernel }, signal)
    expect(found).toEqual({ version: '1.0.6', hasObjectComments: false })
  })

  test('may lack permission', async () => {
    const { exec } = nft('nftables v1.0.6', () => refused('Operation not permitted (you must be root)'))
    await expect(findNft({ family: 'ipv4', exec, ...goodKernel }, signal)).rejects.toMatchObject({
      reason: 'not-permitted',
      message: expect.stringContaining('you must be root'),
    })
  })
})

describe('the kernel', () => {
  const { exec } = nft('nftables v1.0.6')
  const skip = 'KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK'
  const find = (kernelRelease: string, env: Record<string, string>) =>
    findNft({ family: 'ipv4', exec, kernelRelease, env }, signal)

  for (const release of ['5.13.0', '5.14.0-427.el9.x86_64', '6.18.44-fc', '10.0'])
    test(`${release} will do`, async () => expect(await find(release, {})).toMatchObject({ version: '1.0.6' }))

  for (const release of ['5.12.19', '4.18.0-553.el8', 'mystery'])
    test(`${release} will not, unless somebody says so`, async () => {
      const tooOld = { reason: 'no-kernel-support', message: expect.stringContaining('needs 5.13') }
      await expect(find(release, {})).rejects.toMatchObject(tooOld)
      await expect(find(release, { [skip]: '' })).rejects.toMatchObject(tooOld)
      expect(await find(release, { [skip]: '1' })).toMatchObject({ version: '1.0.6' })
    })

  test('may lack address translation for one family', async () => {
    const withoutNat = nft('nftables v1.0.6', (script) =>
      script.includes('type nat')
        ? refused('/dev/stdin:2:1-9: Error: Could not process rule: No such file or directory')
        : {},
    )
    expect(await supportsNft({ family: 'ipv6', exec: withoutNat.exec, ...goodKernel }, signal)).toBe(false)
    expect(await supportsNft({ family: 'ipv6', exec, ...goodKernel }, signal)).toBe(true)
  })
})
