/** What every backend promises of what it tells about one route. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Comparison } from '../core/backend.ts'
import type { Inspection, InspectedPiece, PlannedPiece } from '../core/inspection.ts'
import type { RouteKey } from '../core/route.ts'
import type { BackendSite, World } from './testing/backend-site.ts'
import { NodeUnderTest } from './testing/node-under-test.ts'
import { anyClusterStep, anyClusterSteps } from './testing/random-history.ts'
import type { ClusterStep } from './testing/random-history.ts'

const never = new AbortController().signal
const inTime = { interruptAfterTimeLimit: 20_000 }

export function inspectionContract<D, S>(site: BackendSite<D, S>): void {
  const anyScene = anyInspectedScene(site)

  test('an inspection finds all as planned, writes nothing, and nothing is there that no route explains', async () => {
    await fc.assert(
      fc.asyncProperty(anyScene, async (scene) => {
        await using node = await programmed(site, scene)
        const written: string[] = []
        node.world.calls.before = ({ method }) => void (site.writes.has(method) && written.push(method))
        await expectAllAsPlanned(node)
        expect(written).toEqual([])
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
          await expectDamageToShow(node, which)
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

export interface InspectedScene {
  readonly start: readonly ClusterStep[]
  readonly steps: readonly ClusterStep[]
}

export function anyInspectedScene<D, S>({ plan }: BackendSite<D, S>): fc.Arbitrary<InspectedScene> {
  return fc.record({ start: anyClusterSteps(plan), steps: fc.array(anyClusterStep(plan), { maxLength: 3 }) })
}

export async function programmed<D, S>(
  site: BackendSite<D, S>,
  { start, steps }: InspectedScene,
  world: World<D, S> = site.newWorld(),
): Promise<NodeUnderTest<D, S>> {
  const node = new NodeUnderTest(site, start, world)
  await node.sync({ full: true })
  for (const step of steps) {
    await node.apply(step)
    await node.sync({ full: false })
  }
  return node
}

export async function expectAllAsPlanned<D, S>(node: NodeUnderTest<D, S>): Promise<void> {
  const inspections = await inspectAll(node)
  const empty = node.keys.filter(({ key, isHeld }) => isHeld && inspections.get(key)?.pieces.length === 0)
  expect(empty).toEqual([])
  for (const [key, inspection] of inspections) {
    expect(wrongIn(inspection)).toEqual([])
    expect(inspection.notRead).toBeUndefined()
    expect(await node.backend.pieces?.(key)).toEqual(inspection.pieces.map(({ state: _compared, ...piece }) => piece))
  }
  expect(await compared(node)).toEqual({ kind: 'as written' })
  const pieces = [...inspections.values()].flatMap((inspection) => inspection.pieces)
  expect(await node.world.unexplained(pieces)).toEqual([])
  expect(await node.inspect('shop/nobody/TCP' as RouteKey)).toBeUndefined()
}

/** To one of all pieces. */
export async function expectDamageToShow<D, S>(node: NodeUnderTest<D, S>, which: number): Promise<void> {
  const before = await inspectAll(node)
  const pieces = [...before.values()].flatMap((inspection) => inspection.pieces)
  const piece = pieces[which % pieces.length]
  if (piece === undefined || !(await node.world.spoil(piece))) return
  expect(await compared(node)).toMatchObject({ kind: 'differs' })
  const keysOf = (inspections: ReadonlyMap<RouteKey, Inspection>, isMeant: (of: Inspection) => boolean) =>
    [...inspections].flatMap(([key, inspection]) => (isMeant(inspection) ? [key] : []))
  const concerned = keysOf(before, (inspection) => inspection.pieces.some((other) => idOf(other) === idOf(piece)))
  const wrong = keysOf(await inspectAll(node), (inspection) => wrongIn(inspection).length > 0)
  expect({ piece: idOf(piece), wrong }).toEqual({ piece: idOf(piece), wrong: concerned })
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

/** Where nobody else can touch anything, all is as written. */
async function compared<D, S>({ backend }: NodeUnderTest<D, S>): Promise<Comparison> {
  return (await backend.compare?.(never)) ?? { kind: 'as written' }
}

function wrongIn({ pieces }: Inspection): readonly InspectedPiece[] {
  return pieces.filter(({ state }) => state !== 'as planned')
}

function idOf({ kind, where, text }: PlannedPiece): string {
  return `${kind} in ${where}: ${text}`
}
