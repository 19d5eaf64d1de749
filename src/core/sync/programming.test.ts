import { describe, expect, test } from 'vitest'
import { Programming } from './programming.ts'
import type { ProgrammingHooks } from './programming.ts'

class Refused extends Error {}

type Damage = 'flushed' | 'scratched'

/** A data plane that holds a number, and a backend whose task is the number to hold. */
function setUp(hooks: Partial<ProgrammingHooks<number, number, Damage>> = {}) {
  const did: string[] = []
  const report = { facts: {}, failed: [] }
  const programming = new Programming<number, number, Damage>({
    edit: (known, task) => {
      did.push(`edit ${known.kind} ${known.plan} → ${task}`)
      return Promise.resolve({ plan: task, report })
    },
    rewrite: (task, known) => {
      did.push(`rewrite ${known.kind} → ${task}`)
      return Promise.resolve({ plan: task, report })
    },
    isRefusal: (error) => error instanceof Refused,
    ...hooks,
  })
  const { signal } = new AbortController()
  return { programming, did, report, sync: (task: number) => programming.sync(task, signal) }
}

describe('a sync', () => {
  test('writes everything at first, then what differs', async () => {
    const { did, sync, programming } = setUp()
    expect([programming.written, programming.isLost, programming.syncCount]).toEqual([undefined, false, 0])
    for (const task of [1, 2, 3]) await sync(task)
    expect(did).toEqual(['rewrite unknown → 1', 'edit written 1 → 2', 'edit written 2 → 3'])
    expect([programming.written, programming.isLost, programming.syncCount]).toEqual([3, false, 3])
  })

  test('writes everything when an edit is not enough, knowing what was there', async () => {
    const { did, sync } = setUp({ edit: () => Promise.resolve(undefined) })
    for (const task of [1, 2]) await sync(task)
    expect(did).toEqual(['rewrite unknown → 1', 'rewrite written → 2'])
  })

  test('writes everything when the edit is refused, and says so', async () => {
    const refusals: unknown[] = []
    const refused = new Refused('no such chain')
    const { did, sync, programming } = setUp({
      edit: () => Promise.reject(refused),
      onRefusedEdit: (error) => void refusals.push(error),
    })
    for (const task of [1, 2]) await sync(task)
    expect([did, refusals]).toEqual([['rewrite unknown → 1', 'rewrite written → 2'], [refused]])
    expect(programming.written).toBe(2)
  })

  test('says nothing of a refused edit where nobody wants to know', async () => {
    const { did, sync } = setUp({ edit: () => Promise.reject(new Refused('no such chain')) })
    for (const task of [1, 2]) await sync(task)
    expect(did).toEqual(['rewrite unknown → 1', 'rewrite written → 2'])
  })

  test('that fails in an edit for another reason ends there; nothing is taken for granted afterwards', async () => {
    let fails = true
    const { did, sync, programming, report } = setUp({
      edit: (_, task) => (fails ? Promise.reject(new Error('no memory')) : Promise.resolve({ plan: task, report })),
    })
    await sync(1)
    await expect(sync(2)).rejects.toThrow('no memory')
    expect([programming.written, programming.isLost]).toEqual([undefined, true])
    fails = false
    await sync(3)
    expect(did).toEqual(['rewrite unknown → 1', 'rewrite unknown → 3'])
    expect(programming.isLost).toBe(false)
  })

  test('that fails while everything is written leaves nothing known', async () => {
    const { sync, programming } = setUp({ rewrite: () => Promise.reject(new Refused('all of it')) })
    await expect(sync(1)).rejects.toThrow('all of it')
    expect([programming.written, programming.isLost]).toEqual([undefined, true])
  })

  test('is alone: a look waits for it, and sees nothing half done', async () => {
    const { programming, sync } = setUp()
    const first = sync(1)
    expect(programming.written).toBeUndefined()
    const seen = programming.inTurn(() => Promise.resolve(programming.written))
    const second = sync(2)
    expect(await seen).toBe(1)
    await Promise.all([first, second])
    expect(programming.written).toBe(2)
  })
})

describe('damage', () => {
  test('is told to the next sync, once', async () => {
    const { did, sync, programming } = setUp({
      edit: (known, task) => {
        did.push(known.kind === 'damaged' ? `repair ${known.damage}` : 'edit')
        return Promise.resolve({ plan: task, report })
      },
    })
    const report = { facts: {}, failed: [] }
    await sync(1)
    programming.noteDamage('scratched')
    expect(programming.written).toBe(1)
    await sync(2)
    await sync(3)
    expect(did).toEqual(['rewrite unknown → 1', 'repair scratched', 'edit'])
  })

  test('means nothing while nobody knows what is there', async () => {
    const { did, sync, programming } = setUp()
    programming.noteDamage('flushed')
    await sync(1)
    expect(did).toEqual(['rewrite unknown → 1'])
  })
})

test('what is written may change without a sync', async () => {
  const { sync, programming, did } = setUp()
  programming.replaceWritten(() => {
    throw new Error('nothing is written yet')
  })
  await sync(1)
  programming.replaceWritten((plan) => plan + 100)
  await sync(2)
  expect(did).toEqual(['rewrite unknown → 1', 'edit written 101 → 2'])
})

describe('a comparison', () => {
  test('knows nothing before the first sync, and after one that failed', async () => {
    const { programming, sync } = setUp({ edit: () => Promise.reject(new Error('no tool')) })
    const find = () => Promise.resolve('a rule is gone')
    expect(await programming.compare(find)).toEqual({ kind: 'unknown' })
    await sync(1)
    expect(await programming.compare(find)).toEqual({ kind: 'differs', found: 'a rule is gone' })
    await expect(sync(2)).rejects.toThrow('no tool')
    expect(await programming.compare(find)).toEqual({ kind: 'unknown' })
    expect(await programming.withWritten((plan) => plan)).toBeUndefined()
  })

  test('is made again when a sync came in between, and that one is not disturbed', async () => {
    const { programming, sync, did } = setUp()
    await sync(1)
    const compared: string[] = []
    let later: Promise<unknown> | undefined
    const outcome = await programming.compare(async (plan) => {
      compared.push(`${plan}`)
      if (compared.length === 1) {
        await sync(2)
        return 'what was read is neither the old nor the new'
      }
      later = sync(3)
      await Promise.resolve()
      compared.push(did.at(-1) ?? '')
      return undefined
    })
    await later
    expect(outcome).toEqual({ kind: 'as written' })
    expect(compared).toEqual(['1', '2', 'edit written 1 → 2'])
  })
})
