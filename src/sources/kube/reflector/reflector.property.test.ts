import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Clock } from '../../../core/clock.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { loadKubeAccess } from '../access/kube-access.ts'
import { KubeClient } from '../kube-client.ts'
import { Reflector } from './reflector.ts'
import { ClusterModel, valueOf } from '../testing/cluster-model.ts'
import type { Fault } from '../testing/cluster-model.ts'
import { eventually } from '../testing/eventually.ts'
import { FaultServer } from '../testing/fault-server.ts'
import { RecordingSink } from '../testing/recording-sink.ts'

const names = ['a', 'b', 'c', 'd', 'e'] as const

/** Exists from the beginning to the end, so no state after the first list may lack it. */
const steady = 'steady'

type Step =
  | { readonly do: 'put' | 'delete'; readonly name: string }
  | { readonly do: 'compact' | 'cut' | 'bookmark' | 'touch-steady' }
  | { readonly do: 'wait'; readonly turns: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('put' as const, 'delete' as const), name: fc.constantFrom(...names) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('compact' as const, 'cut' as const, 'bookmark' as const, 'touch-steady' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), turns: fc.integer({ min: 1, max: 20 }) }) },
)

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: 'none' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('cut' as const, 'end' as const),
      afterBytes: fc.integer({ min: 0, max: 900 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('status' as const), code: fc.constantFrom(410, 429, 500, 503) }),
  },
)

test('whatever breaks and wherever, the copy ends up equal to the cluster and never loses what was there all the time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('yes' as const, 'refuses' as const, 'ignores' as const),
      fc.array(fault, { maxLength: 12 }),
      fc.array(step, { maxLength: 30 }),
      async (streaming, faults, steps) => {
        const model = new ClusterModel(streaming, faults)
        for (const name of [steady, 'a', 'b']) model.put(name)
        const problems: string[] = []
        const sink = new RecordingSink((sink) => problems.push(...problemsOf(sink)))
        await using server = await FaultServer.start()
        server.otherwise((exchange) => model.answer(exchange))
        await using client = new KubeClient({
          access: await loadKubeAccess({ master: server.url }),
          version: '0',
          qps: -1,
          clock: new FakeClock(), // stands still: nothing here may depend on a time limit
        })
        const stop = new AbortController()
        const reflector = new Reflector({
          client,
          query: { kind: 'Thing', resource: 'things', path: '/things' },
          sink,
          clock: impatientClock(),
          random: () => 0,
        })
        const running = reflector.run(stop.signal)
        for (const each of steps) await take(each, model)
        await eventually(`"${sink.content}" to become "${model.content}"`, () => sink.content === model.content)
        stop.abort()
        await running
        expect(problems).toEqual([])
        expect(repetitions(sink.diary)).toEqual([])
      },
    ),
    // Under Wine a connection costs ten times as much.
    { numRuns: process.platform === 'win32' ? 10 : 150 },
  )
}, 120_000)

async function take(step: Step, model: ClusterModel): Promise<void> {
  switch (step.do) {
    case 'put':
      return model.put(step.name)
    case 'delete':
      return model.delete(step.name)
    case 'compact':
      return model.compact()
    case 'cut':
      return model.cutAll()
    case 'bookmark':
      return model.sendBookmarks()
    case 'touch-steady':
      return model.put(steady)
    case 'wait':
      for (let i = 0; i < step.turns; i++) await new Promise((resolve) => setImmediate(resolve))
  }
}

function problemsOf({ itemsByName, diary }: RecordingSink): readonly string[] {
  const at = diary.at(-1) ?? ''
  const problems = itemsByName.has(steady) ? [] : [`"${steady}" is missing after ${at}`]
  for (const { name, version, value } of itemsByName.values())
    if (value !== valueOf(name, version)) problems.push(`${name} is garbled after ${at}: ${value}`)
  return problems
}

/** Events that were applied although their version was not newer than what the copy had. */
function repetitions(diary: readonly string[]): readonly string[] {
  const found: string[] = []
  let newest = 0
  for (const entry of diary) {
    const versions = [...entry.matchAll(/@(\d+)/g)].map(([, version]) => Number(version))
    if (!entry.startsWith('replace') && versions.some((version) => version <= newest)) found.push(entry)
    newest = Math.max(newest, ...versions)
  }
  return found
}

/** Every pause ends at once, but not within the same turn of the event loop. */
function impatientClock(): Clock {
  let elapsedMs = 0
  return {
    now: () => elapsedMs,
    monotonic: () => elapsedMs,
    sleep: (ms, signal) => {
      elapsedMs += ms
      return new Promise((resolve, reject) => {
        setImmediate(() => (signal.aborted ? reject(signal.reason as Error) : resolve()))
      })
    },
  }
}
