import { expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import { scriptedExec } from '../testing/scripted-exec.ts'
import { noTables } from '../save-reader.ts'
import { findIptables } from '../find-iptables.ts'
import type { Iptables } from '../iptables.ts'
import { findHostIptables } from './host-iptables.ts'
import { readTables } from './look-into-iptables.ts'

const { signal } = new AbortController()
const options = { clock: systemClock, log: silentLogger, readText: async () => '' }

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
  const found = await findHostIptables({ ...options, exec }, signal)
  expect(found.map(({ tool }) => tool)).toEqual([undefined, 'iptables-legacy', undefined, 'ip6tables-legacy'])
})

test('a kernel without the family holds nothing of it', async () => {
  const stderr = 'ip6tables-save v1.8.9 (legacy): Cannot initialize: Table does not exist (do you need to insmod?)\n'
  const iptables = await thatSaves({ exitCode: 1, stderr })
  expect(await readTables(iptables, () => undefined, signal)).toBe(noTables)
})

test('tables that cannot be read are not taken for empty', async () => {
  const iptables = await thatSaves({ exitCode: 4, stderr: 'iptables-nft-save: Permission denied (you must be root)' })
  await expect(readTables(iptables, () => undefined, signal)).rejects.toMatchObject({ reason: 'not-permitted' })
})

test('legacy tables of the kernel that no tool can show are named', async () => {
  const { exec } = scriptedExec(() => undefined)
  const readText = async (path: string) => (path === '/proc/net/ip_tables_names' ? 'nat\nfilter\n' : '')
  const found = await findHostIptables({ ...options, exec, readText }, signal)
  expect(found.map(({ unseenTables }) => unseenTables)).toEqual([[], ['nat', 'filter'], [], []])
})

function thatSaves(result: { readonly exitCode: number; readonly stderr: string }): Promise<Iptables> {
  const { exec } = scriptedExec((command) =>
    command.endsWith('-save') ? result : { stdout: 'iptables v1.8.9 (legacy)\n' },
  )
  return findIptables({ family: 'ipv6', variant: 'legacy', ...options, exec, signal })
}

/** `installed`: names of IPv4 programs; those of IPv6 are installed, too. A plain name is of the legacy variant. */
async function toolsOf(installed: readonly string[]): Promise<readonly (string | undefined)[]> {
  const { exec } = scriptedExec((command) => {
    const [program = ''] = command.split(' ')
    const name = program.replace('ip6', 'ip').replace(/-save$/, '')
    if (!installed.includes(name)) return undefined
    return {
      stdout: program.endsWith('-save') ? '' : `iptables v1.8.9 (${name.endsWith('-nft') ? 'nf_tables' : 'legacy'})\n`,
    }
  })
  const found = await findHostIptables({ ...options, exec }, signal)
  return found.map(({ tool }) => tool)
}
