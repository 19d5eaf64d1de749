/** Whatever is tried, the table in memory and the kernel take and refuse the same, and then hold the same. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { families } from '../../net/ip.ts'
import { processExec } from '../exec/exec.ts'
import { openDatagrams } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace } from '../netlink/testing/network-namespace.ts'
import { MemoryNftTable } from './memory/memory-nft.ts'
import { NftTables } from './nft-tables.ts'
import { NftError } from './nft.ts'
import type { NftOperation, NftTable, NftTransaction, SetDeclaration } from './nft.ts'
import { rule } from './rule.ts'
import { sampleTable } from './testing/sample-table.ts'
import type { SampleTable } from './testing/sample-table.ts'

const { signal } = new AbortController()

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  for (const family of families)
    test(`memory and kernel agree after any history, ${family}`, async () => {
      const sample = sampleTable(family)
      await fc.assert(
        fc.asyncProperty(histories(sample, family === 'ipv4' ? 32 : 128), async (history) => {
          enterFreshNamespace()
          const tables = new NftTables({ exec: processExec, openDatagrams })
          await using kernel = await tables.open(family, silentLogger, signal)
          const memory = new MemoryNftTable()
          for (const table of [memory, kernel]) await table.commit(sample.setUp, signal)
          for (const transaction of history)
            expect(await outcome(kernel, transaction)).toEqual(await outcome(memory, transaction))
          expect(await contents(kernel, sample)).toEqual(await contents(memory, sample))
          expect(await kernel.foreignChange(signal)).toEqual({ kind: 'none' })
        }),
        { numRuns: 12 },
      )
      // Hundreds of commands: a busy machine takes its time.
    }, 120_000)
})

/** Few keys and values, so that they meet often. */
function histories(sample: SampleTable, addressBits: number): fc.Arbitrary<readonly NftTransaction[]> {
  const { ip, services, endpoints, ranges, cidrs, clusterIps } = sample
  const few = fc.integer({ min: 0, max: 5 })
  const verdict = fc.constantFrom('drop', 'goto pick-2', 'goto spare', 'jump spare', 'goto nowhere')
  const elementsOf = (set: SetDeclaration, key: (n: number) => string, value?: fc.Arbitrary<string>) => {
    const element = fc.record({ key: few.map(key), ...(value !== undefined && { value }) })
    return fc.oneof(
      fc.record({
        do: fc.constant('add elements' as const),
        set: fc.constant(set),
        elements: fc.array(element, { minLength: 1, maxLength: 4 }),
      }),
      fc.record({
        do: fc.constant('delete elements' as const),
        set: fc.constant(set),
        keys: fc.array(few.map(key), { minLength: 1, maxLength: 2 }),
      }),
    )
  }
  const prefix = (n: number) => `${ip(n * 256)}/${addressBits - 8}`
  const operation: fc.Arbitrary<NftOperation> = fc.oneof(
    elementsOf(services, (n) => `${ip(n)} . tcp . 80`, verdict),
    elementsOf(
      endpoints,
      (n) => `${ip(1)} . udp . 53 . ${n}`,
      few.map((n) => `${ip(n >> 1)} . 80`),
    ),
    elementsOf(clusterIps, ip),
    elementsOf(ranges, (n) => `${ip(1)} . tcp . 80 . ${prefix(n)}`),
    elementsOf(cidrs, prefix),
    fc.constantFrom<NftOperation>(
      { do: 'delete chain', name: 'spare' },
      { do: 'flush chain', name: 'spare' },
      { do: 'add chain', chain: { name: 'spare', comment: '' } },
      { do: 'add rule', chain: 'nat-prerouting', rule: rule({ kind: 'jump', chain: 'spare' }) },
      { do: 'flush chain', name: 'nat-prerouting' },
      { do: 'delete set', set: services },
      { do: 'add set', set: services },
    ),
  )
  return fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
}

async function outcome(table: NftTable, transaction: NftTransaction): Promise<string> {
  const tried = async (attempt: Promise<void>) => {
    try {
      await attempt
      return 'done'
    } catch (error) {
      // Where several things are wrong, nft finds some of them before it asks the kernel: the first reason may differ.
      return error instanceof NftError && refusals.has(error.reason) ? 'refused' : String(error)
    }
  }
  const checked = await tried(table.check(transaction, signal))
  const committed = await tried(table.commit(transaction, signal))
  return `${checked} when checked, ${committed} when committed`
}

const refusals: ReadonlySet<string> = new Set(['missing', 'exists', 'busy', 'refused'])

async function contents(table: NftTable, sample: SampleTable): Promise<Record<string, unknown>> {
  const listing = await table.list(signal)
  const found: Record<string, unknown> = { chains: listing?.chains.toSorted(), sets: listing?.sets.toSorted() }
  for (const set of [sample.services, sample.endpoints, sample.ranges, sample.cidrs, sample.clusterIps])
    found[set.name] = [...(await table.elements(set, signal))].map(([key, { value }]) => `${key} : ${value}`).sort()
  return found
}
