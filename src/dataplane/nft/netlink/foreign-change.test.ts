/** Who else changed the table: with the real kernel, because only that knows what it tells. */
import { constants } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { processExec } from '../../exec/exec.ts'
import { openDatagrams } from '../../netlink/open-netlink.ts'
import type { OpenDatagrams } from '../../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../../netlink/testing/network-namespace.ts'
import { NftTables } from '../nft-tables.ts'
import type { NftOperation, NftTable } from '../nft.ts'
import { rule } from '../rule.ts'
import { sampleTable } from '../testing/sample-table.ts'
import { sendDatagram } from '../testing/send-datagram.ts'

const { signal } = new AbortController()
const sample = sampleTable('ipv4')
const { services, clusterIps } = sample

const addressesOf = (count: number): NftOperation => ({
  do: 'add elements',
  set: clusterIps,
  elements: Array.from({ length: count }, (_, n) => ({ key: sample.ip(n) })),
})
const oneService: NftOperation = {
  do: 'add elements',
  set: services,
  elements: [{ key: '10.0.0.1 . tcp . 80', value: 'goto pick-2' }],
}

async function openTables(open: OpenDatagrams = openDatagrams) {
  enterFreshNamespace()
  const tables = new NftTables({ exec: processExec, openDatagrams: open })
  const table = await tables.open('ipv4', silentLogger, signal)
  return { tables, table }
}

async function filledTable(open?: OpenDatagrams): Promise<NftTable> {
  const { table } = await openTables(open)
  await table.commit(sample.setUp, signal)
  return table
}

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(
  `the kernel tells${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    test('of nothing when nothing happens', async () => {
      await using table = (await openTables()).table
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
    })

    test('of our own changes, which are not foreign, whichever way they went', async () => {
      await using table = await filledTable()
      await table.commit([oneService], signal)
      await table.commit([{ do: 'add rule', chain: 'spare', rule: rule({ kind: 'drop' }) }], signal)
      await table.commit([{ do: 'flush chain', name: 'spare' }, addressesOf(500)], signal)
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
    })

    test('nothing of our own large changes, and of the next foreign one', async () => {
      await using table = await filledTable()
      await table.commit([addressesOf(5000)], signal)
      const cidr: NftOperation = { do: 'add elements', set: sample.cidrs, elements: [{ key: '10.0.0.0/8' }] }
      await table.commit([{ do: 'delete elements', set: clusterIps, keys: keysOf(addressesOf(5000)) }, cidr], signal)
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
      run('nft add element ip fairlead cluster-ips { 10.9.9.9 }')
      expect(await table.foreignChange(signal)).toMatchObject({ kind: 'changed' })
    })

    for (const [what, command, expected] of [
      ['elements', 'nft delete element ip fairlead services { 10.0.0.1 . tcp . 80 }', /deleted elements of services/],
      ['a rule', 'nft add rule ip fairlead spare accept', /added a rule to chain spare/],
      ['a chain', 'nft delete chain ip fairlead spare', /deleted chain spare/],
      ['a set', 'nft delete map ip fairlead nodeports', /deleted set nodeports/],
      ['the table', 'nft delete table ip fairlead', /deleted .* more changes$/],
      ['everything', 'nft flush ruleset', /deleted .* more changes$/],
    ] as const)
      test(`who changed ${what}, and that only once`, async () => {
        await using table = await filledTable()
        await table.commit([oneService], signal)
        run(command)
        const change = await table.foreignChange(signal)
        expect(change).toEqual({ kind: 'changed', what: expect.stringMatching(/^nft \(process \d+\) /) })
        expect(change).toEqual({ kind: 'changed', what: expect.stringMatching(expected) })
        expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
      })

    test('of each one who changed something', async () => {
      await using table = await filledTable()
      run('nft add element ip fairlead cluster-ips { 10.9.9.9 }')
      await table.commit([oneService], signal)
      run('nft add chain ip fairlead theirs')
      expect(await table.foreignChange(signal)).toEqual({
        kind: 'changed',
        what: expect.stringMatching(
          /^nft \(process \d+\) added elements to cluster-ips; nft \(process \d+\) added chain theirs$/,
        ),
      })
    })

    test('nothing of other tables, even of one with our name in another family', async () => {
      await using table = await filledTable()
      run('nft add table ip other')
      run('nft add chain ip other theirs')
      run('nft add table ip6 fairlead')
      run('nft add table inet fairlead')
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
    })

    test('nothing of what packets do: not when they add an element, not when it runs out', async () => {
      await using table = await filledTable()
      const affinity = { ...sample.affinity, name: 'short-memory', timeoutSeconds: 1 }
      const hook = { type: 'filter', hook: 'output', priority: 0 } as const
      await table.commit(
        [
          { do: 'add set', set: affinity },
          { do: 'add chain', chain: { name: 'remember', hook, comment: '' } },
          { do: 'add rule', chain: 'remember', rule: rule({ kind: 'remember source', set: 'short-memory' }) },
        ],
        signal,
      )
      const keys = async () => [...(await table.elements(affinity, signal)).keys()]
      await sendDatagram()
      expect(await keys()).toEqual(['127.0.0.1'])
      await vi.waitFor(async () => expect(await keys()).toEqual([]), { timeout: 20_000, interval: 100 })
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
    })

    test('two tables of one process apart, and two processes too', async () => {
      const { tables, table } = await openTables()
      await using ipv4 = table
      await using ipv6 = await tables.open('ipv6', silentLogger, signal)
      await using other = await new NftTables({ exec: processExec, openDatagrams }).open('ipv6', silentLogger, signal)
      await ipv4.commit(sample.setUp, signal)
      await ipv6.commit(sampleTable('ipv6').setUp, signal)
      await ipv4.commit([addressesOf(3000)], signal)
      await ipv6.commit([{ do: 'delete chain', name: 'spare' }], signal)
      expect(await ipv4.foreignChange(signal)).toEqual({ kind: 'none' })
      expect(await ipv6.foreignChange(signal)).toEqual({ kind: 'none' })
      expect(await other.foreignChange(signal)).toMatchObject({ kind: 'changed' })
    })

    test('nothing any more to a table that is closed, while the other goes on', async () => {
      const { tables, table } = await openTables()
      await using ipv6 = await tables.open('ipv6', silentLogger, signal)
      await table[Symbol.asyncDispose]()
      run('nft add table ip6 fairlead')
      expect(await ipv6.foreignChange(signal)).toMatchObject({ kind: 'changed' })
    })

    test('that something else happened during a large change, but not what', async () => {
      let isMeddling = false
      await using table = await filledTable(async (protocol) => {
        const datagrams = await openDatagrams(protocol)
        const send = async (datagram: Buffer) => {
          if (isMeddling && datagram.length > 10_000) run('nft add chain ip fairlead theirs')
          await datagrams.send(datagram)
        }
        return { ...datagrams, send }
      })
      isMeddling = true
      await table.commit([addressesOf(3000)], signal)
      expect(await table.foreignChange(signal)).toEqual({ kind: 'unknown' })
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
    })

    test('more than we could hear: then only a comparison helps', async () => {
      let isOverflowing = false
      await using table = await filledTable(async (protocol) => {
        const datagrams = await openDatagrams(protocol)
        const receive = async () => {
          if (!isOverflowing) return datagrams.receive()
          isOverflowing = false
          throw Object.assign(new Error('ENOBUFS'), { code: 'ENOBUFS', errno: -constants.errno.ENOBUFS })
        }
        return { ...datagrams, receive }
      })
      isOverflowing = true
      expect(await table.foreignChange(signal)).toEqual({ kind: 'unknown' })
      expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
    })
  },
)

function keysOf(operation: NftOperation): readonly string[] {
  return operation.do === 'add elements' ? operation.elements.map(({ key }) => key) : []
}
