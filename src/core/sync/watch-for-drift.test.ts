import { expect, test } from 'vitest'
import { silentLogger } from '../logger.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { OneAtATime } from './one-at-a-time.ts'
import { noSuspicion, vagueSuspicion, watchForDrift } from './watch-for-drift.ts'
import type { Suspicion, Watched } from './watch-for-drift.ts'

/** A data plane with one part; the test changes what it tells. */
class Site implements Watched<string, string> {
  readonly clock = new FakeClock()
  readonly found: string[] = []
  /** At which second each comparison began. */
  readonly comparisons: number[] = []
  isExact = false
  suspicion: Suspicion<string> = noSuspicion
  drift: string | undefined
  costMs = 0
  mostPauseMs: number | undefined
  lostPauseMs: number | undefined
  trouble: Error | undefined
  onCompare: () => void = () => {}
  readonly #turns = new OneAtATime()
  readonly #stop = new AbortController()
  readonly programming = {
    inTurn: <T>(work: () => Promise<T>) => this.#turns.run(work),
    written: 'plan' as string | undefined,
    isLost: false,
    syncCount: 1,
  }
  #running: Promise<void> = Promise.resolve()

  suspect(): Promise<Suspicion<string>> {
    return Promise.resolve(this.suspicion)
  }

  async compare(): Promise<string | undefined> {
    this.comparisons.push(this.clock.monotonic() / 1000)
    this.onCompare()
    if (this.costMs > 0) await this.clock.sleep(this.costMs, this.#stop.signal)
    if (this.trouble !== undefined) throw this.trouble
    return this.drift
  }

  start(): this {
    const { clock, programming } = this
    const onFound = (finding: string) => void this.found.push(`${clock.monotonic() / 1000} s: ${finding}`)
    const { lostPauseMs } = this
    const options = { parts: [this], lost: 'lost', lostPauseMs, onFound, clock, log: silentLogger }
    this.#running = watchForDrift(options, programming, this.#stop.signal)
    return this
  }

  async after(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000)
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }
}

type Facts = 'isExact' | 'costMs' | 'suspicion' | 'drift' | 'mostPauseMs' | 'lostPauseMs' | 'trouble'

function given(facts: Partial<Pick<Site, Facts>> = {}): Site {
  return Object.assign(new Site(), facts).start()
}

test('what is certain is told at the next look, without a comparison', async () => {
  const site = given()
  await site.after(2)
  site.suspicion = { kind: 'certain', finding: 'a chain is gone' }
  await site.after(1)
  expect(site.found).toEqual(['3 s: a chain is gone'])
  expect(site.comparisons).toEqual([0])
  await site.end()
})

test('a vague suspicion makes it compare at the next look, and is over when all is well', async () => {
  const site = given({ isExact: true })
  await site.after(2)
  site.suspicion = vagueSuspicion
  await site.after(1)
  site.suspicion = noSuspicion
  await site.after(10)
  expect(site.comparisons).toEqual([0, 3])
  expect(site.found).toEqual([])
  await site.end()
})

test('what a comparison finds is told, and looked for again until it is gone', async () => {
  const site = given({ drift: 'a rule is gone' })
  await site.after(1)
  site.drift = undefined
  await site.after(2)
  expect(site.found).toEqual(['0 s: a rule is gone', '1 s: a rule is gone'])
  expect(site.comparisons).toEqual([0, 1, 2])
  await site.end()
})

test('without any suspicion it compares now and then: often where something may be missed, else rarely', async () => {
  const inexact = given()
  await inexact.after(13)
  expect(inexact.comparisons).toEqual([0, 4, 8, 12])
  await inexact.end()
  const exact = given({ isExact: true })
  await exact.after(121)
  expect(exact.comparisons).toEqual([0, 60, 120])
  await exact.end()
})

test('comparisons that cost much are rarer, with and without suspicion', async () => {
  const quiet = given({ costMs: 1_000 })
  await quiet.after(120)
  expect(quiet.comparisons).toEqual([0, 51, 102])
  await quiet.end()
  const suspicious = given({ costMs: 1_000, suspicion: vagueSuspicion })
  await suspicious.after(14)
  expect(suspicious.comparisons).toEqual([0, 5, 10])
  await suspicious.end()
})

test('where drift must be repaired soon, no cost keeps the next comparison waiting for longer', async () => {
  const site = given({ costMs: 3_000, mostPauseMs: 5_000 })
  await site.after(17)
  expect(site.comparisons).toEqual([0, 8, 16])
  await site.end()
  const suspicious = given({ costMs: 3_000, mostPauseMs: 5_000, suspicion: vagueSuspicion })
  await suspicious.after(17)
  expect(suspicious.comparisons).toEqual([0, 8, 16])
  await suspicious.end()
})

test('there, a comparison that failed is repeated at the next look, however long it took', async () => {
  const site = given({ costMs: 30_000, mostPauseMs: 5_000, trouble: new Error('no answer') })
  await site.after(40)
  expect(site.comparisons).toEqual([0, 31])
  await site.end()
})

test('elsewhere, one that failed has cost as much as any other', async () => {
  const site = given({ costMs: 3_000, trouble: new Error('no answer') })
  await site.after(20)
  expect(site.comparisons).toEqual([0, 15])
  await site.end()
})

test('however much they cost, some happen', async () => {
  const site = given({ costMs: 60_000 })
  await site.after(400)
  expect(site.comparisons).toEqual([0, 360])
  await site.end()
})

test('the next part is looked at when the one before it is as planned', async () => {
  const [first, second] = [new Site(), new Site()]
  second.drift = 'an address is gone'
  const found: string[] = []
  const stop = new AbortController()
  const { clock, programming } = first
  const options = { parts: [first, second], lost: 'lost', onFound: (it: string) => void found.push(it), clock }
  const running = watchForDrift({ ...options, log: silentLogger }, programming, stop.signal)
  await clock.advance(0)
  stop.abort()
  await running
  expect(found).toEqual(['an address is gone'])
})

test('a comparison that a sync disturbed says nothing and is repeated; the fourth keeps syncs waiting', async () => {
  const site = given({ drift: 'half of a sync', costMs: 1 })
  const syncs: string[] = []
  site.onCompare = () => {
    const number = site.comparisons.length
    void site.programming.inTurn(async () => {
      site.programming.syncCount++
      syncs.push(`sync in comparison ${number}, with ${site.found.length} findings`)
    })
  }
  await site.after(4)
  expect(syncs.slice(0, 3)).toEqual([1, 2, 3].map((number) => `sync in comparison ${number}, with 0 findings`))
  expect(syncs).toHaveLength(4)
  expect(site.found).toEqual(['3.004 s: half of a sync'])
  await site.end()
})

test('a plan that was replaced without a sync disturbs a comparison, too', async () => {
  const site = given({ drift: 'a server that is draining' })
  site.onCompare = () => (site.programming.written = 'another plan')
  await site.after(0)
  expect(site.found).toEqual([])
  await site.end()
})

test('after a failed sync nobody knows what is there', async () => {
  const site = given()
  site.programming.isLost = true
  site.programming.written = undefined
  await site.after(1)
  expect(site.found).toEqual(['0 s: lost', '1 s: lost'])
  await site.end()
})

test('a sync that keeps failing is told of slower and slower, or at the pace that is asked for', async () => {
  const lostAt = async (facts: Parameters<typeof given>[0]) => {
    const site = given(facts)
    site.programming.isLost = true
    await site.after(20)
    await site.end()
    return site.found.map((line) => Number.parseFloat(line))
  }
  expect(await lostAt({})).toEqual([0, 1, 2, 3, 4, 6, 10, 18])
  expect(await lostAt({ lostPauseMs: 4_000 })).toEqual([0, 4, 8, 12, 16, 20])
})

test('before the first sync there is nothing to compare', async () => {
  const site = given({ drift: 'everything', suspicion: { kind: 'certain', finding: 'everything' } })
  site.programming.written = undefined
  await site.after(10)
  expect({ found: site.found, comparisons: site.comparisons }).toEqual({ found: [], comparisons: [] })
  await site.end()
})
