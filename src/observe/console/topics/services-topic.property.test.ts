import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RouteKey } from '../../../core/route.ts'
import { anyStep, applyStep } from '../../../core/testing/histories.ts'
import type { Step } from '../../../core/testing/histories.ts'
import { RecordingViewer, ShownNode } from './testing/shown-node.ts'
import { ShownRows } from './testing/shown-rows.ts'

type Turn =
  | { readonly do: 'cluster'; readonly step: Step }
  | { readonly do: 'slow' | 'ready'; readonly viewer: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'fail'; readonly names: readonly string[] }
  | { readonly do: 'carry'; readonly name: string; readonly connections: number }

const viewers = 2
const anyViewer = fc.nat({ max: viewers - 1 })

/** Keys of routes that the histories may have. */
const routeNames = ['demo/web/TCP', 'demo/web:http/TCP', 'demo/db:dns/UDP', 'demo/dns/UDP']

const anyTurn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 8, arbitrary: anyStep.map((step): Turn => ({ do: 'cluster', step })) },
  { weight: 2, arbitrary: anyViewer.map((viewer): Turn => ({ do: 'slow', viewer })) },
  { weight: 2, arbitrary: anyViewer.map((viewer): Turn => ({ do: 'ready', viewer })) },
  { weight: 4, arbitrary: fc.constantFrom(0, 100, 250, 1_100).map((ms): Turn => ({ do: 'pass', ms })) },
  { weight: 1, arbitrary: fc.subarray(routeNames).map((names): Turn => ({ do: 'fail', names })) },
  {
    weight: 2,
    arbitrary: fc
      .record({ name: fc.constantFrom(...routeNames), connections: fc.nat({ max: 3 }) })
      .map((it): Turn => ({ do: 'carry', ...it })),
  },
)

test('whoever follows, however slowly, ends with the rows that somebody gets who comes now', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyTurn, { maxLength: 60, size: 'max' }), async (turns) => {
      const node = new ShownNode()
      const following = Array.from({ length: viewers }, () => new RecordingViewer())
      const follows = following.map((viewer) => node.follow('services', viewer))
      for (const turn of turns) await take(turn, node, following)
      for (const viewer of following) viewer.isBehind = false
      // The numbers that were read last are those that all get.
      await node.clock.advance(3_000)
      const fresh = new RecordingViewer()
      const followed = node.follow('services', fresh)
      await node.clock.advance(0)
      const expected = sorted(fresh)
      for (const viewer of following) expect(sorted(viewer)).toEqual(expected)
      for (const follow of [...follows, followed]) follow[Symbol.dispose]()
    }),
    { numRuns: 200 },
  )
})

async function take(turn: Turn, node: ShownNode, following: readonly RecordingViewer[]): Promise<void> {
  switch (turn.do) {
    case 'cluster':
      applyStep(node.catalog, turn.step)
      if (turn.step.do === 'flush') await Promise.resolve()
      if (turn.step.do === 'sync') node.sync()
      return
    case 'slow':
    case 'ready': {
      const viewer = following[turn.viewer]
      if (viewer !== undefined) viewer.isBehind = turn.do === 'slow'
      return
    }
    case 'pass':
      return node.clock.advance(turn.ms)
    case 'fail':
      node.states.ipv4.failed = new Map(turn.names.map((name) => [name as RouteKey, 'refused']))
      return
    case 'carry':
      node.states.ipv4.traffic.set(turn.name as RouteKey, { connections: turn.connections })
      return
    default:
      turn satisfies never
  }
}

function sorted(viewer: RecordingViewer) {
  return [...new ShownRows(viewer).byKey].sort(([left], [right]) => (left < right ? -1 : 1))
}
