import { expect, test, vi } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { orphanedChains } from './testing/chains.ts'
import { fairleadIptables, startFairlead } from './testing/fairlead.ts'
import type { FairleadOptions, FairleadProcess } from './testing/fairlead.ts'
import { FaultyRestore } from './testing/faulty-restore.ts'
import { families as iptablesNames, missingPrograms } from './testing/iptables-variant.ts'
import type { IptablesVariant } from './testing/iptables-variant.ts'
import { Load } from './testing/load.ts'
import { NodeProcess } from './testing/node-process.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless, skipped } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { givenService, objectsOf } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const changedWeb: ServiceFixture = { ...web, endpoints: ['here-1', 'here-3'] }
/** Their rules are in the pipe to iptables-restore at once. */
const few = Array.from({ length: 5 }, (_, n) => givenService(`few-${n}`, n + 20, { endpoints: ['here-2', 'there-2'] }))
/** More text than a pipe holds, so that a proxy may die with half of it written. */
const many = Array.from({ length: 150 }, (_, n) =>
  givenService(`many-${n}`, n + 20, { endpoints: ['here-2', 'there-2'] }),
)

/** They mostly wait, and each has a cluster of its own. */
const atOnce = { concurrent: true }
const patience = { timeout: 40_000, interval: 20 }

for (const variant of ['nft', 'legacy'] as const) {
  const problem = packetTestProblem(fairleadIptables(variant)) ?? missingPrograms('flock')
  describeUnless(problem, `iptables (${variant})`, () => {
    test(
      'killed in the middle of a sync, it leaves traffic alone, and the next one finishes the work',
      atOnce,
      async () => {
        await using folder = await TemporaryFolder.make()
        const restore = await FaultyRestore.install(folder.path, variant)
        await using site = await startSite({ variant, env: restore.env }, [web, ...many])
        const { rig, fairlead } = site
        const load = new Load(rig, flowsTo(web))

        await killWhileRestoring(site, restore, variant)
        restore.release()
        await vi.waitUntil(() => restore.held === 0, patience)
        fairlead.run()
        await rig.program([changedWeb, ...many.slice(20)])

        await load.stop()
        expect(load.failures).toEqual([])
        expect(load.connections).toBeGreaterThan(20)
        expect(await serviceFaults(rig, changedWeb)).toEqual([])
        expect(orphanedChains(rig.cluster.node, variant)).toEqual([])
      },
    )

    test('a restore that outlives the process that started it is undone by the next one', atOnce, async () => {
      await using folder = await TemporaryFolder.make()
      const restore = await FaultyRestore.install(folder.path, variant)
      await using site = await startSite({ variant, env: restore.env }, [web, ...few])
      const { rig, fairlead } = site
      const load = new Load(rig, flowsTo(web))

      await killWhileRestoring(site, restore, variant)
      fairlead.run()
      await rig.program([changedWeb])
      restore.release()
      await vi.waitUntil(() => restore.held === 0, patience)

      // The old rules are back, or would be if nobody looked after them.
      await vi.waitUntil(() => fairlead.log().includes('somebody else changed the rules'), patience)
      await vi.waitFor(async () => {
        expect(await serviceFaults(rig, changedWeb)).toEqual([])
        expect(orphanedChains(rig.cluster.node, variant)).toEqual([])
      }, patience)
      await load.stop()
      expect(load.failures).toEqual([])
    })

    test.each(damages)('%s is repaired', atOnce, async (_name, damage) => {
      await using site = await startSite({ variant }, [web])
      const { rig, fairlead } = site
      expect(await serviceFaults(rig, web)).toEqual([])
      fairlead.signal('SIGSTOP') // or it may be quicker than we are
      for (const name of iptablesNames)
        damage((tool, args, input) => rig.cluster.node.run(`${name}-${variant}${tool}`, args, { input }))
      expect(await serviceFaults(rig, web)).not.toEqual([])
      fairlead.signal('SIGCONT')
      await vi.waitFor(async () => expect(await serviceFaults(rig, web)).toEqual([]), patience)
    })

    test.each([1, 4])('an iptables-restore that fails once with code %i is tried again', atOnce, async (exitCode) => {
      await using folder = await TemporaryFolder.make()
      const restore = await FaultyRestore.install(folder.path, variant)
      restore.failOnce(exitCode)
      await using site = await startSite({ variant, env: restore.env, settings: { syncPeriod: '1s' } }, [web])
      const { rig } = site
      expect(restore.hasFailed).toBe(true)
      expect(await serviceFaults(rig, web)).toEqual([])

      // Later syncs write less, and fail in another way.
      restore.failOnce(exitCode)
      const changed: ServiceFixture = { ...web, endpoints: ['here-1', 'there-2'] }
      const load = new Load(rig, flowsTo(web))
      await rig.program([changed])
      await load.stop()
      expect(restore.hasFailed).toBe(true)
      expect(load.failures).toEqual([])
      expect(await serviceFaults(rig, changed)).toEqual([])
      expect(orphanedChains(rig.cluster.node, variant)).toEqual([])
    })

    test.skipIf(variant === 'nft')(
      `the lock of iptables, held by another, delays a change but does not lose it${skipped(lockProblem(variant))}`,
      atOnce,
      async () => {
        await using folder = await TemporaryFolder.make()
        const lock = await folder.write('xtables.lock', '')
        const env = { XTABLES_LOCKFILE: lock }
        await using site = await startSite({ variant, env, settings: { syncPeriod: '1s' } }, [web])
        const { rig, fairlead } = site
        const changed: ServiceFixture = { ...web, endpoints: ['here-3'] }
        // iptables itself waits five seconds. One lock goes before that, the other only after a sync has failed.
        for (const [wanted, isLong] of [
          [changed, false],
          [web, true],
        ] as const) {
          await using holder = new NodeProcess(rig.cluster.node, 'flock', ['--no-fork', lock, 'sleep', '120'])
          await vi.waitFor(() => expect(isLocked(lock, rig)).toBe(true), patience)
          const seen = fairlead.log().length
          await fairlead.apply(objectsOf(wanted))
          const hasHappened = () => !isLong || fairlead.log().slice(seen).includes('sync failed')
          await vi.waitUntil(hasHappened, patience)
          expect(await serviceFaults(rig, wanted)).not.toEqual([])
          await holder.stop('SIGKILL')
          await rig.program([wanted])
          expect(await serviceFaults(rig, wanted)).toEqual([])
        }
      },
    )
  })
}

function lockProblem(variant: IptablesVariant): string | undefined {
  return variant === 'nft' ? 'the nft variant has no lock' : undefined
}

type RunTool = (tool: '' | '-restore', args: readonly string[], input: string) => void

const damages: readonly (readonly [name: string, damage: (run: RunTool) => void])[] = [
  ['a flush of the nat table', (run) => run('', ['-t', 'nat', '-F'], '')],
  ['the deletion of a jump', (run) => run('', ['-t', 'nat', '-D', 'PREROUTING', '1'], '')],
  ['an edited chain', (run) => run('', ['-t', 'nat', '-F', 'KUBE-NODEPORTS'], '')],
  ['the load of an empty ruleset', (run) => run('-restore', [], '*mangle\nCOMMIT\n*filter\nCOMMIT\n*nat\nCOMMIT\n')],
]

interface Site extends AsyncDisposable {
  readonly rig: Rig
  readonly fairlead: FairleadProcess
}

async function startSite(options: FairleadOptions, services: readonly ServiceFixture[]): Promise<Site> {
  let fairlead: FairleadProcess | undefined
  const rig = await Rig.startWith(async (cluster) => (fairlead = await startFairlead(cluster, options)), services)
  if (fairlead === undefined) throw new Error('Fairlead was not started')
  return { rig, fairlead, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() }
}

/** Leaves behind one restore for each family, which waits to be released and knows the old objects. */
async function killWhileRestoring(
  { fairlead, rig }: Awaited<ReturnType<typeof startSite>>,
  restore: FaultyRestore,
  variant: IptablesVariant,
): Promise<void> {
  restore.hold()
  await fairlead.stop('SIGKILL')
  // If all were right, the next one would write nothing. This rule harms nobody.
  for (const name of iptablesNames) rig.cluster.node.run(`${name}-${variant}`, ['-A', 'KUBE-FORWARD', '-j', 'RETURN'])
  fairlead.run() // its first sync writes everything
  await vi.waitUntil(() => restore.held === families.length, patience)
  await fairlead.stop('SIGKILL')
  restore.holdNoMore()
}

function isLocked(lock: string, { cluster }: Rig): boolean {
  try {
    cluster.node.run('flock', ['--nonblock', lock, 'true'])
    return false
  } catch {
    return true
  }
}
