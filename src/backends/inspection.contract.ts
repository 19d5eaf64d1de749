/** What every backend promises of what it tells about one route. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Inspection, InspectedPiece, PlannedPiece } from '../core/inspection.ts'
import type { RouteKey } from '../core/route.ts'
import type { BackendSite } from './testing/backend-site.ts'
import { NodeUnderTest } from './testing/node-under-test.ts'
import { anyClusterStep, anyClusterSteps } from './testing/random-history.ts'
import type { ClusterStep } from './testing/random-history.ts'

const inTime = { interruptAfterTimeLimit: 20_000 }

export function inspectionContract<D, S>(site: BackendSite<D, S>): void {
  const { plan } = site
  const anyScene = fc.record({ start: anyClusterSteps(plan), steps: fc.array(anyClusterStep(plan), { maxLength: 3 }) })

  test('an inspection finds all as planned, writes nothing, and nothing is there that no route explains', async () => {
    await fc.assert(
      fc.asyncProperty(anyScene, async (scene) => {
        await using node = await programmed(site, scene)
        const written: string[] = []
        node.world.calls.before = ({ method }) => void (site.writes.has(method) && written.push(method))
        const inspections = await inspectAll(node)
        expect(written).toEqual([])
        const empty = node.keys.filter(({ key, isHeld }) => isHeld && inspections.get(key)?.pieces.length === 0)
        expect(empty).toEqual([])
        for (const inspection of inspections.values()) {
          expect(wrongIn(inspection)).toEqual([])
          expect(inspection.notRead).toBeUndefined()
        }
        const pieces = [...inspections.values()].flatMap((inspection) => inspection.pieces)
        expect(await node.world.unexplained(pieces)).toEqual([])
        expect(await node.inspect('shop/nobody/TCP' as RouteKey)).toBeUndefined()
      }),
      { numRuns: 20, ...inTime },
    )
  })

  const isSafe = site.damage === undefined ? ' (skipped: nobody else can touch the data plane)' : ''
  test.skipIf(isSafe !== '')(
    `damage to a piece shows in the routes that have it, and in no others${isSafe}`,
    async () => {
      await fc.assert(
        fc.asyncProperty(anyScene, fc.nat(), async (scene, which) => {
          await using node = await programmed(site, scene)
          const before = await inspectAll(node)
          const pieces = [...before.values()].flatMap((inspection) => inspection.pieces)
          const piece = pieces[which % pieces.length]
          if (piece === undefined || !(await node.world.spoil(piece))) return
          const keysOf = (inspections: ReadonlyMap<RouteKey, Inspection>, isMeant: (of: Inspection) => boolean) =>
            [...inspections].flatMap(([key, inspection]) => (isMeant(inspection) ? [key] : []))
          const concerned = keysOf(before, ({ pieces: all }) => all.some((other) => idOf(other) === idOf(piece)))
          const wrong = keysOf(await inspectAll(node), (inspection) => wrongIn(inspection).length > 0)
          expect({ piece: idOf(piece), wrong }).toEqual({ piece: idOf(piece), wrong: concerned })
        }),
        { numRuns: 40, ...inTime },
      )
    },
  )

  test('what cannot be read is said to be so, with the reason', async () => {
    await fc.assert(
      fc.asyncProperty(anyScene, async (scene) => {
        await using node = await programmed(site, scene)
        for (const { key } of node.keys) {
          let calls = 0
          node.world.calls.before = () => {
            calls++
            throw new Error('the test lets nobody read')
          }
          const inspection = await node.inspect(key)
          expect(inspection?.notRead).toBe(calls === 0 ? undefined : 'the test lets nobody read')
          expect(inspection?.pieces.some(({ state }) => state === 'not read') ?? false).toBe(calls > 0)
        }
      }),
      { numRuns: 5, ...inTime },
    )
  })
}

interface Scene {
  readonly start: readonly ClusterStep[]
  readonly steps: readonly ClusterStep[]
}

async function programmed<D, S>(site: BackendSite<D, S>, { start, steps }: Scene): Promise<NodeUnderTest<D, S>> {
  const node = new NodeUnderTest(site, start)
  await node.sync({ full: true })
  for (const step of steps) {
    await node.apply(step)
    await node.sync({ full: false })
  }
  return node
}

async function inspectAll<D, S>(node: NodeUnderTest<D, S>): Promise<ReadonlyMap<RouteKey, Inspection>> {
  const inspections = new Map<RouteKey, Inspection>()
  for (const { key, isHeld } of node.keys) {
    const inspection = await node.inspect(key)
    if (inspection !== undefined) inspections.set(key, inspection)
    else if (isHeld) throw new Error(`nobody knows of ${key}`)
  }
  return inspections
}

function wrongIn({ pieces }: Inspection): readonly InspectedPiece[] {
  return pieces.filter(({ state }) => state !== 'as planned')
}

function idOf({ kind, where, text }: PlannedPiece): string {
  return `${kind} in ${where}: ${text}`
}
