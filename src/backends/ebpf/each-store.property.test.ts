import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tableSlotsOf } from '../../core/balance/slots.ts'
import type { Outcome } from '../../core/route.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import { families } from '../../net/ip.ts'
import { anyClusterStep } from '../testing/random-history.ts'
import type { DoorCall } from '../testing/door-calls.ts'
import { decodeService, layout, mapSpecs, readListWord } from './layout.ts'
import { extentSize } from './arena.ts'
import { changesOfMap } from './testing/counted-door.ts'
import { describeTables, frontendsIn, recordsIn } from './testing/describe-tables.ts'
import { expectedChoices } from './testing/expected-choices.ts'
import type { Expected } from './testing/expected-choices.ts'
import { choicesOf } from './testing/hook-model.ts'
import type { Choice, ModelMaps } from './testing/hook-model.ts'
import { smallSpecs } from './testing/memory-node.ts'
import { SocketsUnderTest } from './testing/sockets-under-test.ts'
import type { FamilyStep } from './testing/sockets-under-test.ts'

const anyFamilyStep: fc.Arbitrary<FamilyStep> = fc
  .constantFrom(...families)
  .chain((family) => anyClusterStep(addressPlans[family]).map((step) => ({ family, step })))

type Event = FamilyStep | { readonly do: 'restart' | 'full sync' | 'a minute passes' }

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 10, arbitrary: anyFamilyStep },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('restart', 'full sync', 'a minute passes') }) },
)

const start = fc.array(anyFamilyStep, { maxLength: 6, size: 'max' })
const events = fc.array(anyEvent, { minLength: 1, maxLength: 8, size: 'max' })

async function happen(sockets: SocketsUnderTest, event: Event): Promise<void> {
  if ('step' in event) {
    sockets.clusters[event.family].apply(event.step)
    return sockets.sync(event.family)
  }
  if (event.do === 'restart') sockets.restart()
  if (event.do === 'a minute passes') await sockets.clock.advance(61_000)
  else for (const family of families) await sockets.sync(family, { full: true })
}

test('after each store every socket gets what its Route said before, or says now, or is left to the packets', async () => {
  await fc.assert(
    fc.asyncProperty(start, events, async (steps, history) => {
      const sockets = new SocketsUnderTest(steps)
      for (const family of families) await sockets.sync(family, { full: true })
      for (const event of history) {
        const before = allExpected(sockets)
        const wrong: string[] = []
        let after: Expected | undefined
        sockets.calls.atEachMoment = ({ method, door }) => {
          if (!isChange(method)) return
          after ??= allExpected(sockets)
          wrong.push(...wrongChoices(sockets, [before, after]).map((text) => `after ${method} of ${door}: ${text}`))
        }
        await happen(sockets, event)
        sockets.calls.atEachMoment = () => {}
        expect(wrong).toEqual([])
        expect(unserved(sockets)).toEqual([])
      }
    }),
    { numRuns: 60, interruptAfterTimeLimit: 30_000 },
  )
})

test('nothing is filled that a program can reach', async () => {
  await fc.assert(
    fc.asyncProperty(start, events, async (steps, history) => {
      const sockets = new SocketsUnderTest(steps)
      for (const family of families) await sockets.sync(family, { full: true })
      const reached: string[] = []
      sockets.calls.before = (call) => {
        const maps = sockets.node.mapsAt('connect4')
        if (call.method === 'fill' && maps !== undefined) reached.push(...reachableIn(maps, call))
      }
      for (const event of history) await happen(sockets, event)
      expect(reached).toEqual([])
    }),
    { numRuns: 60, interruptAfterTimeLimit: 30_000 },
  )
})

test('a process that comes after a crash at any step leaves what a first one would leave, and loses no room', async () => {
  await fc.assert(
    fc.asyncProperty(start, anyFamilyStep, fc.nat(20), async (steps, { family, step }, number) => {
      const sockets = new SocketsUnderTest(steps)
      for (const each of families) await sockets.sync(each, { full: true })
      sockets.clusters[family].apply(step)
      let left = number
      sockets.calls.after = ({ method }) => {
        if (isChange(method) && left-- === 0) throw new Error('the process is gone')
      }
      await sockets.sync(family).catch(() => {})
      sockets.calls.after = () => {}
      sockets.restart()
      for (const each of families) await sockets.sync(each, { full: true })
      const fresh = new SocketsUnderTest([...steps, { family, step }])
      for (const each of families) await fresh.sync(each, { full: true })
      expect(tablesOf(sockets)).toEqual(tablesOf(fresh))
      expect(sockets.balancer.usage).toEqual(fresh.balancer.usage)
    }),
    { numRuns: 120, interruptAfterTimeLimit: 30_000 },
  )
})

test('tables that are too small grow, and nobody notices', async () => {
  const maxEntries = { frontends: 4, services: 3, service_stats: 3, slots: 8, endpoints: 4, endpoint_stats: 4 }
  const specs = { ...smallSpecs }
  for (const [name, size] of Object.entries(maxEntries))
    Object.assign(specs, { [name]: { ...mapSpecs[name as keyof typeof maxEntries], maxEntries: size } })
  let hasGrown = false
  await fc.assert(
    fc.asyncProperty(start, events, async (steps, history) => {
      const sockets = new SocketsUnderTest([], { specs })
      for (const family of families) await sockets.sync(family, { full: true })
      for (const event of [...steps, ...history]) {
        const before = allExpected(sockets)
        const wrong: string[] = []
        let after: Expected | undefined
        sockets.calls.atEachMoment = ({ method }) => {
          if (isChange(method) || method === 'replace')
            wrong.push(...wrongChoices(sockets, [before, (after ??= allExpected(sockets))]))
        }
        await happen(sockets, event)
        sockets.calls.atEachMoment = () => {}
        expect(wrong).toEqual([])
        expect(unserved(sockets)).toEqual([])
        const { capacities } = sockets.balancer.usage ?? {}
        hasGrown ||= (capacities?.slots ?? 0) > 8
      }
    }),
    { numRuns: 40, interruptAfterTimeLimit: 30_000 },
  )
  expect(hasGrown).toBe(true)
})

function isChange(method: string): boolean {
  return (changesOfMap as readonly string[]).includes(method)
}

function allExpected(sockets: SocketsUnderTest): Expected {
  return new Map(families.flatMap((family) => [...expectedChoices(sockets.view(family), addressPlans[family].node)]))
}

function tablesOf(sockets: SocketsUnderTest): readonly string[] {
  const maps = sockets.node.mapsAt('connect4')
  return maps === undefined ? [] : describeTables(maps)
}

function wrongChoices(sockets: SocketsUnderTest, known: readonly Expected[]): readonly string[] {
  const maps = sockets.node.mapsAt('connect4')
  if (maps === undefined) return []
  const texts = new Set(known.flatMap((each) => [...each.keys()]))
  return [...texts].flatMap((text) => {
    const found = known.flatMap((each) => each.get(text) ?? [])
    const [first] = found
    if (first === undefined) return []
    return choicesOf(maps, first.client)
      .filter((choice) => !found.some(({ outcome }) => isSaid(choice, outcome)))
      .map((choice) => `${text}: ${choiceText(choice)}`)
  })
}

/** Who is passed although a hook could have served: each such entrance has its reason in the Route. */
function unserved(sockets: SocketsUnderTest): readonly string[] {
  const maps = sockets.node.mapsAt('connect4')
  if (maps === undefined) return []
  return [...allExpected(sockets)].flatMap(([text, { client, outcome, isLeft }]) => {
    const choices = choicesOf(maps, client)
    if (isLeft) return choices.some(({ kind }) => kind !== 'pass') ? [`${text} is for the packets`] : []
    const wanted =
      outcome.kind === 'forward'
        ? tableSlotsOf(outcome.to).map(({ address }) => address)
        : [outcome.kind === 'reject' && client.protocol === 'TCP' ? 'refuse' : 'pass']
    const got = choices.map(choiceText)
    return got.join() === wanted.join() ? [] : [`${text}: ${got.join()} instead of ${wanted.join()}`]
  })
}

function isSaid(choice: Choice, outcome: Outcome): boolean {
  switch (choice.kind) {
    case 'pass':
      return true
    case 'refuse':
      return outcome.kind === 'reject'
    case 'endpoint':
      return outcome.kind === 'forward' && outcome.to.some(({ address }) => address === choice.address)
    default:
      return choice satisfies never
  }
}

function choiceText(choice: Choice): string {
  return choice.kind === 'endpoint' ? choice.address : choice.kind
}

/** What of it a program can get to, by any frontend. */
function reachableIn(maps: ModelMaps, { door, args }: DoorCall): readonly string[] {
  const [offset, bytes] = args as [number, Uint8Array]
  const overlaps = (index: number, size: number, count = 1) =>
    index * size < offset + bytes.length && offset < (index + count) * size
  const indexes = new Set(frontendsIn(maps).flatMap(({ target }) => target?.service ?? []))
  if (door === 'map fl_services')
    return [...indexes].filter((index) => overlaps(index, layout.service.size)).map((index) => `service ${index}`)
  if (door === 'map fl_endpoints')
    return recordsIn(maps)
      .filter(({ id, service }) => indexes.has(service) && overlaps(id, layout.endpoint.size))
      .map(({ id }) => `endpoint ${id}`)
  if (door !== 'map fl_slots') return []
  return [...indexes].flatMap((index) => {
    const service = decodeService(maps.services.bytes, index * layout.service.size)
    return [service.internal, service.external].map(readListWord).flatMap((list) => {
      if (list.kind !== 'endpoints') return []
      return overlaps(list.base, layout.slot.size, extentSize(list.count)) ? [`slots from ${list.base}`] : []
    })
  })
}
