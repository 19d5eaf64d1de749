/** What every backend promises, over doors in memory. A mode brings a `BackendSite` and nothing else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { routeKey } from '../core/route.ts'
import { service, slice } from '../core/testing/objects.ts'
import type { AddressPlan } from '../core/testing/random-cluster.ts'
import { inspectionContract } from './inspection.contract.ts'
import type { SpanRecord } from '../core/trace.ts'
import { misplacedIn } from '../observe/tracing/testing/recorded-trees.ts'
import type { BackendSite } from './testing/backend-site.ts'
import type { DoorCall } from './testing/door-calls.ts'
import { NodeUnderTest } from './testing/node-under-test.ts'
import { anyClusterStep, anyClusterSteps, anyDamageStep, anyStep } from './testing/random-history.ts'
import type { ClusterStep, Step } from './testing/random-history.ts'
import { Spoiler, troubles } from './testing/spoiler.ts'
import type { Trouble } from './testing/spoiler.ts'

/** Whoever watches has looked by then. */
const noticeMs = 5_000
/** What a sync left for later, because a call failed that it can do without, is done by then. */
const settleMs = 61_000
/** On a slow machine fewer runs are better than none; and a failure is reported, even if it could be made smaller. */
const inTime = { interruptAfterTimeLimit: 20_000 }
/** Calls to break, each in a sync of its own. */
const enoughCalls = 40

export function backendContract<D, S>(site: BackendSite<D, S>): void {
  const { name, plan, otherSettings, restart, damage } = site
  const start = anyClusterSteps(plan)
  /** Nobody is cut off by it. */
  const anyCalmStep = anyStep<D, S>(plan, { restarts: 'writes' in restart })

  describe(`the ${name} backend (${plan.family})`, () => {
    test('writing only what changed leaves what a first sync would leave, and is not taken for damage', async () => {
      const anyNodeStep = anyStep<D, S>(plan, otherSettings === undefined ? {} : { settings: otherSettings })
      const steps = fc.array(anyNodeStep, { minLength: 1, maxLength: 8, size: 'max' })
      await fc.assert(
        fc.asyncProperty(fc.record({ start, steps }), async (history) => {
          await using node = new NodeUnderTest(site, history.start)
          await node.sync({ full: true })
          for (const step of history.steps) {
            const { failed } = await node.sync({ full: await node.apply(step) })
            expect(failed).toEqual([])
            expect(await node.problems()).toEqual([])
            await node.clock.advance(noticeMs)
            expect(node.found).toEqual([])
          }
        }),
        { numRuns: 25, ...inTime },
      )
    })

    test('each change of the data plane is a commit in the trace of its sync, and each part lies within its whole', async () => {
      const steps = fc.array(anyStep<D, S>(plan, {}), { minLength: 1, maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(fc.record({ start, steps }), async (history) => {
          await using node = new NodeUnderTest(site, history.start)
          // What carries connections itself is no kernel that one could commit to.
          const isCommit = ({ door, method }: DoorCall) => door !== 'relay' && site.writes.has(method)
          let commits = 0
          node.world.calls.before = (call) => void (commits += isCommit(call) ? 1 : 0)
          for (const step of [{ do: 'full sync' } as const, ...history.steps]) {
            const full = await node.apply(step)
            commits = 0
            await node.sync({ full })
            const trace = node.traces.at(-1)
            expect(trace && commitsIn(trace, site.splitCommits)).toBe(commits)
            expect(trace && misplacedIn(trace)).toEqual([])
          }
        }),
        { numRuns: 15, ...inTime },
      )
    })

    test('a refused route is reported, the others are served, and so is it once it is taken', async () => {
      const culprit = culpritOf(plan)
      const anyScene = fc.record({
        start,
        steps: start,
        full: fc.boolean(),
        which: fc.nat(),
        isRetryFull: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(anyScene, async (scene) => {
          await using node = new NodeUnderTest(site, scene.start)
          await node.sync({ full: true })
          await node.apply(...scene.steps, culprit.step)
          node.world.refuse(culprit.ip, scene.which)
          const { failed } = await node.sync({ full: scene.full })
          expect([...new Set(failed.map(({ key }) => key))]).toEqual([culprit.key])
          expect(failed.filter(({ reason }) => reason === '')).toEqual([])
          expect(await node.unserved(({ ip }) => ip !== culprit.ip)).toEqual([])

          node.world.refuse(undefined, scene.which)
          node.retry([culprit.key])
          expect((await node.sync({ full: scene.isRetryFull })).failed).toEqual([])
          expect(await node.problems()).toEqual([])
        }),
        { numRuns: 20, ...inTime },
      )
    })

    test.each(troubles)(
      'whichever call %s: nothing is forgotten, and who is served before and after is served all the time',
      async (trouble) => {
        const anyScene = fc.record({
          start,
          broken: fc.array(anyCalmStep, { minLength: 1, maxLength: 3 }),
          // What was begun may be wanted no more.
          meanwhile: fc.oneof(fc.array(anyCalmStep, { maxLength: 1 }), fc.constant('all is as it was' as const)),
          isRetryFull: fc.constantFrom(false, false, true),
        })
        let [brokenCalls, hasFailed] = [0, false]
        await fc.assert(
          fc.asyncProperty(anyScene, async (scene) => {
            // Modes that do much in one sync get fewer of them. A failure is looked into, whatever it takes.
            if (brokenCalls >= enoughCalls && !hasFailed) return
            for (let number = 0; ; number++) {
              const problems = await breakCall(site, scene, trouble, number)
              if (problems === undefined) return
              hasFailed ||= problems.length > 0
              expect(problems).toEqual([])
              brokenCalls++
            }
          }),
          { numRuns: 15, ...inTime },
        )
        expect(brokenCalls).toBeGreaterThan(0)
      },
    )

    test('a full sync when nothing has changed changes nothing at any moment', async () => {
      await fc.assert(
        fc.asyncProperty(start, async (steps) => {
          await using node = new NodeUnderTest(site, steps)
          await node.sync({ full: true })
          expect(await node.changesDuring(() => node.sync({ full: true }))).toEqual([])
        }),
        { numRuns: 20, ...inTime },
      )
    })

    const outlives = 'writes' in restart ? restart : undefined
    const whyNot = 'skippedBecause' in restart ? ` (skipped: ${restart.skippedBecause})` : ''
    test.skipIf(outlives === undefined)(`a restart writes nothing that is there${whyNot}`, async () => {
      await fc.assert(
        fc.asyncProperty(start, async (steps) => {
          await using node = new NodeUnderTest(site, steps)
          await node.sync({ full: true })
          await node.restart()
          const written: string[] = []
          node.world.calls.before = (call) => void written.push(...(outlives?.writes(call) ?? []))
          expect(await node.changesDuring(() => node.sync({ full: true }))).toEqual([])
          expect(written).toEqual([])
        }),
        { numRuns: 20, ...inTime },
      )
    })

    const isSafe = damage === undefined ? ' (skipped: nobody else can touch the data plane)' : ''
    test.skipIf(damage === undefined)(`damage is noticed and repaired${isSafe}`, async () => {
      if (damage === undefined) return
      const anyScene = fc.record({
        start,
        damages: fc.array(anyDamageStep(damage), { minLength: 1, maxLength: 4 }),
        meanwhile: fc.array(anyStep<D, S>(plan, {}), { maxLength: 1 }),
        later: fc.array(anyClusterStep(plan), { maxLength: 1 }),
      })
      await fc.assert(
        fc.asyncProperty(anyScene, async (scene) => {
          await using node = new NodeUnderTest(site, scene.start)
          await node.sync({ full: true })
          await node.clock.advance(noticeMs)
          await node.apply(...scene.damages)
          const isDamaged = (await node.differences()).length > 0
          await node.clock.advance(noticeMs)
          const isNoticed = node.found.length > 0
          expect(isNoticed || !isDamaged).toBe(true)
          expect(isDamaged || !isNoticed || site.noticesHarmlessChanges === true).toBe(true)

          await node.apply(...scene.meanwhile)
          expect((await node.sync({ full: true })).failed).toEqual([])
          expect(await node.problems()).toEqual([])
          await node.apply(...scene.later)
          expect((await node.sync({ full: false })).failed).toEqual([])
          expect(await node.problems()).toEqual([])
        }),
        { numRuns: 25, ...inTime },
      )
    })

    inspectionContract(site)
  })
}

/** A Service that has nothing in common with the others. */
function culpritOf({ family, strangers, podsElsewhere }: AddressPlan) {
  const [ip = ''] = strangers
  const step: ClusterStep = {
    do: 'put',
    service: service('shop/culprit', {
      clusterIP: ip,
      clusterIPs: [ip],
      ipFamilies: [family === 'ipv4' ? 'IPv4' : 'IPv6'],
      ports: [{ name: 'x', port: 8443, protocol: 'TCP' }],
    }),
    slice: slice('shop/culprit-1', 'culprit', podsElsewhere, [{ name: 'x', port: 8443, protocol: 'TCP' }]),
  }
  return { ip, step, key: routeKey('shop', 'culprit', 'x', 'TCP') }
}

interface Scene<D, S> {
  readonly start: readonly ClusterStep[]
  readonly broken: readonly Step<D, S>[]
  readonly meanwhile: readonly Step<D, S>[] | 'all is as it was'
  readonly isRetryFull: boolean
}

/**
 * A sync breaks off at one of its calls. Then the cluster has gone on, and the next sync is a good one. Undefined: the
 * sync needs fewer calls.
 */
async function breakCall<D, S>(
  site: BackendSite<D, S>,
  { start, broken, meanwhile, isRetryFull }: Scene<D, S>,
  trouble: Trouble,
  number: number,
): Promise<readonly string[] | undefined> {
  await using node = new NodeUnderTest(site, start)
  await node.sync({ full: true })
  const before = node.expected()
  const full = await node.apply(...broken)
  const between = node.expected()
  const spoiler = new Spoiler(node.world.calls, trouble, number)
  await spoiler.spoil((signal) => node.sync({ full }, signal))
  const { call } = spoiler
  if (call === undefined) return undefined
  const silence = spoiler.hasFailed || site.toleratesFailureOf?.(call) === true ? [] : await undone(node, trouble)
  // As each call is the broken one in turn, these are the gaps of every moment of this sync.
  const firstGaps = await node.gaps([before, between])
  if (meanwhile === 'all is as it was') node.cluster.returnTo(start)
  const mustBeFull = meanwhile === 'all is as it was' ? false : await node.apply(...meanwhile)
  const after = node.expected()
  const gaps = await node.gapsDuring([before, between, after], () => node.sync({ full: isRetryFull || mustBeFull }))
  if (!spoiler.hasFailed) await node.clock.advance(settleMs)
  return [...silence, ...firstGaps, ...gaps, ...(await node.problems())]
}

/** Of a sync that succeeded although a call did not. One that was aborted may as well have done everything. */
async function undone<D, S>(node: NodeUnderTest<D, S>, trouble: Trouble): Promise<readonly string[]> {
  return trouble.endsWith('fails') ? ['the sync succeeded although a call failed'] : node.problems()
}

function commitsIn({ name, attributes, children }: SpanRecord, split: ReadonlySet<string> = new Set()): number {
  const isCommit = name === 'commit' || name === 'netsh'
  const operations = split.has(String(attributes['command'])) ? Number(attributes['operations']) : 1
  return children.reduce((sum, child) => sum + commitsIn(child, split), isCommit ? operations : 0)
}
