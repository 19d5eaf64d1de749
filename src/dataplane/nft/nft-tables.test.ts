import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { processExec as exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { openDatagrams } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { NftTables } from './nft-tables.ts'
import { sampleTable } from './testing/sample-table.ts'

const { signal } = new AbortController()
const { setUp } = sampleTable('ipv4')

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  test('netlink is used where it can be', async () => {
    enterFreshNamespace()
    const log = new RecordingLogger()
    await using table = await new NftTables({ exec, openDatagrams }).open('ipv4', log, signal)
    expect(log.lines.map(({ message }) => message)).toEqual(['nftables over netlink'])
    expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
  })

  for (const error of [
    new NetlinkError('unsupported', 'no koffi'),
    Object.assign(new Error('EPERM: operation not permitted, write'), { errno: -1 }),
  ])
    test(`where it cannot be, nft is, and the log says why (${error.message})`, async () => {
      enterFreshNamespace()
      const log = new RecordingLogger()
      const tables = new NftTables({ exec, openDatagrams: () => Promise.reject(error) })
      await using table = await tables.open('ipv4', log, signal)
      expect(log.lines).toMatchObject([
        {
          level: 'info',
          message: 'netlink does not work here, using the nft command',
          fields: { family: 'ipv4', error },
        },
      ])
      await table.commit(setUp, signal)
      expect((await table.list(signal))?.comment).toBe('a sample')
      expect(await table.foreignChange(signal)).toEqual({ kind: 'unknown' })
    })

  test('nothing is left open, and everything can be opened again', async () => {
    enterFreshNamespace()
    const tables = new NftTables({ exec, openDatagrams })
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    for (let round = 0; round < 3; round++) {
      await using ipv4 = await tables.open('ipv4', silentLogger, signal)
      await using ipv6 = await tables.open('ipv6', silentLogger, signal)
      await ipv4.commit(setUp, signal)
      await ipv6.commit([{ do: 'add table', comment: '' }], signal)
      await ipv4.commit([{ do: 'flush chain', name: 'spare' }], signal)
      await ipv4.elements(sampleTable('ipv4').services, signal)
      run('nft flush ruleset')
      expect(await ipv6.foreignChange(signal)).toMatchObject({ kind: 'changed' })
    }
    expect(openFiles()).toBe(before)
  })
})
