import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import { noTables } from '../../dataplane/iptables/save-reader.ts'
import { findHostIptables, readTables } from './host-iptables.ts'

const { signal } = new AbortController()

test('a host with both variants has four', async () => {
  expect(await toolsOf(['iptables', 'iptables-nft', 'iptables-legacy'])).toEqual([
    'iptables-nft',
    'iptables-legacy',
    'ip6tables-nft',
    'ip6tables-legacy',
  ])
})

test('the plain name stands for the variant that has no name of its own', async () => {
  expect(await toolsOf(['iptables'])).toEqual([undefined, 'iptables', undefined, 'ip6tables'])
  expect(await toolsOf(['iptables', 'iptables-nft'])).toEqual([
    'iptables-nft',
    'iptables',
    'ip6tables-nft',
    'ip6tables',
  ])
})

test('a host may have none', async () => {
  expect(await toolsOf([])).toEqual([undefined, undefined, undefined, undefined])
})

test('a variant that the kernel does not support counts as missing', async () => {
  const stderr = 'iptables: Failed to initialize nft: Protocol not supported\n'
  const { exec } = scriptedExec((command) =>
    command.includes('-nft') ? { exitCode: 1, stderr } : { stdout: 'iptables v1.8.9 (legacy)\n' },
  )
  const found = await findHostIptables({ exec, clock: systemClock, log: silentLogger }, signal)
  expect(found.map(({ tool }) => tool)).toEqual([undefined, 'iptables-legacy', undefined, 'ip6tables-legacy'])
})

test('a kernel without the family holds nothing of it', async () => {
  const stderr = 'ip6tables-save v1.8.9 (legacy): Cannot initialize: Table does not exist (do you need to insmod?)\n'
  const { exec } = scriptedExec(() => ({ exitCode: 1, stderr }))
  expect(await readTables(exec, 'ip6tables-legacy', signal)).toBe(noTables)
})

test('tables that cannot be read are not taken for empty', async () => {
  const { exec } = scriptedExec(() => ({
    exitCode: 4,
    stderr: 'iptables-nft-save: Permission denied (you must be root)',
  }))
  await expect(readTables(exec, 'iptables-nft', signal)).rejects.toMatchObject({ reason: 'not-permitted' })
})

/** `installed`: names of IPv4 programs; plain ones are legacy. Those of IPv6 are there too. */
async function toolsOf(installed: readonly string[]): Promise<readonly (string | undefined)[]> {
  const { exec } = scriptedExec((command) => {
    const [program = ''] = command.split(' ')
    const name = program.replace('ip6', 'ip').replace(/-save$/, '')
    if (!installed.includes(name)) return undefined
    return {
      stdout: program.endsWith('-save') ? '' : `iptables v1.8.9 (${name.endsWith('-nft') ? 'nf_tables' : 'legacy'})\n`,
    }
  })
  const found = await findHostIptables({ exec, clock: systemClock, log: silentLogger }, signal)
  return found.map(({ tool }) => tool)
}
