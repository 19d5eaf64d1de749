/** Random histories on the real kernel, which may refuse what the table in memory takes. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { processExec as exec } from '../../dataplane/exec/exec.ts'
import { openDatagrams } from '../../dataplane/netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace } from '../../dataplane/netlink/testing/network-namespace.ts'
import { CommandNftTable } from '../../dataplane/nft/command/command-nft.ts'
import { NftTables } from '../../dataplane/nft/nft-tables.ts'
import type { NftTable } from '../../dataplane/nft/nft.ts'
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'
import { anyInspectedScene, expectAllAsPlanned, expectDamageToShow, programmed } from '../inspection.contract.ts'
import { NodeUnderTest } from '../testing/node-under-test.ts'
import { anyClusterSteps, anyStep } from '../testing/random-history.ts'
import { anyDamage } from './testing/damage.ts'
import { nftablesSite, nftablesWorld } from './testing/nftables-site.ts'
import { anyState } from './testing/random-node.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import { RecordingTable } from './testing/recording-table.ts'
import { tableSummary } from './testing/table-summary.ts'

const never = new AbortController().signal

/** Does to the kernel what is done to the table in memory, and answers what the kernel says. */
class MirroredTable extends RecordingTable {
  readonly #kernel: NftTable

  constructor(kernel: NftTable) {
    super()
    this.#kernel = kernel
  }

  override async commit(...args: Parameters<RecordingTable['commit']>): Promise<void> {
    await this.#kernel.commit(...args)
    await super.commit(...args)
  }

  override list(signal: AbortSignal) {
    return this.#kernel.list(signal)
  }

  override elements(...args: Parameters<NftTable['elements']>) {
    return this.#kernel.elements(...args)
  }

  override rules(...args: Parameters<NftTable['rules']>) {
    return this.#kernel.rules(...args)
  }

  override async damage(...args: Parameters<RecordingTable['damage']>): Promise<void> {
    await this.#kernel.commit(args[0], never)
    await super.damage(...args)
  }

  kernelSummary(): Promise<readonly string[]> {
    return tableSummary(this.#kernel, (name) => this.declarationOf(name))
  }
}

/** The command starts a process for each set that it reads, so it gets less to do. */
const ways = [
  {
    way: 'netlink',
    runs: 3,
    open: (family: Family) => new NftTables({ exec, openDatagrams }).open(family, silentLogger, never),
  },
  {
    way: 'the nft command',
    runs: 1,
    open: async (family: Family) => new CommandNftTable({ family, exec, hasObjectComments: true }),
  },
]

const missing = missingForNamespace('ip', 'nft')
const note = missing === undefined ? '' : ` (skipped: ${missing})`
describe.skipIf(missing !== undefined)(`on the kernel${note}`, () => {
  const cases = families.flatMap((family) => ways.map((way) => ({ family, ...way })))

  test.each(cases)(
    'a random history leaves what it leaves in memory, through $way ($family)',
    { timeout: 120_000 },
    async ({ family, runs, open }) => {
      const plan = addressPlans[family]
      const anySteps = fc.array(anyStep(plan, { damage: anyDamage, settings: anyState(plan) }), {
        minLength: 4,
        maxLength: 6,
        size: 'max',
      })
      await fc.assert(
        fc.asyncProperty(anyClusterSteps(plan), anySteps, async (start, steps) => {
          enterFreshNamespace()
          await using kernel = await open(family)
          const table = new MirroredTable(kernel)
          await using node = new NodeUnderTest(nftablesSite(family), start, nftablesWorld(family, table))
          await node.sync({ full: true })
          for (const step of steps) {
            const { failed } = await node.sync({ full: await node.apply(step) })
            expect(failed).toEqual([])
          }
          expect(await table.kernelSummary()).toEqual(await table.summary())
        }),
        { numRuns: runs, endOnFailure: true },
      )
    },
  )

  test.each(cases)(
    'all is as planned, and what others damage shows, through $way ($family)',
    { timeout: 120_000 },
    async ({ family, runs, open }) => {
      const site = nftablesSite(family)
      await fc.assert(
        fc.asyncProperty(anyInspectedScene(site), fc.nat(), async (scene, which) => {
          enterFreshNamespace()
          await using kernel = await open(family)
          await using node = await programmed(site, scene, nftablesWorld(family, new MirroredTable(kernel)))
          await expectAllAsPlanned(node)
          await expectDamageToShow(node, which)
        }),
        { numRuns: runs, endOnFailure: true },
      )
    },
  )
})
