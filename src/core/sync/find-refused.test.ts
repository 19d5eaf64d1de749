import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findRefused, writeAllButRefused } from './find-refused.ts'
import type { RouteKey } from '../route.ts'

const keys = (...names: readonly string[]) => names as readonly RouteKey[]
const refusal = new Error('the kernel said no')

test('every route that is refused alone is found, and nobody else', async () => {
  const all = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(all, fc.infiniteStream(fc.boolean()), async (names, coin) => {
      const bad = new Set(names.filter(() => coin.next().value))
      const failed = await findRefused(keys(...names), async (tried) =>
        tried.some((key) => bad.has(key)) ? refusal : undefined,
      )
      expect(failed).toEqual(names.filter((name) => bad.has(name)).map((key) => ({ key, reason: refusal.message })))
    }),
  )
})

test('of two that are refused only together, one is left out', async () => {
  const all = keys('a', 'b', 'c', 'd', 'e')
  const failed = await findRefused(all, async (tried) => {
    expect(all).toEqual(expect.arrayContaining([...tried]))
    return tried.includes('b' as RouteKey) && tried.includes('d' as RouteKey) ? refusal : undefined
  })
  expect(failed.map(({ key }) => key)).toEqual(['d'])
})

test('many that are refused cost not much more than a few', async () => {
  let trials = 0
  const names = Array.from({ length: 10_000 }, (_, index) => `route-${index}`)
  const failed = await findRefused(keys(...names), async () => {
    trials++
    return refusal
  })
  expect(failed).toHaveLength(10_000)
  expect(trials).toBeLessThan(1000)
})

test('after a hundred, a group of up to fifty with a bad one in it is left out whole', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `route-${index}`)
  const bad = new Set([...names.slice(0, 100), 'route-120'])
  const failed = await findRefused(keys(...names), async (tried) =>
    tried.some((key) => bad.has(key)) ? refusal : undefined,
  )
  expect(failed.map(({ key }) => key)).toEqual(names.slice(0, 150))
})

test('before that, nobody goes with a bad one', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `route-${index}`)
  const bad = [...names.slice(0, 99), 'route-120']
  const failed = await findRefused(keys(...names), async (tried) =>
    tried.some((key) => bad.includes(key)) ? refusal : undefined,
  )
  expect(failed.map(({ key }) => key)).toEqual(bad)
})

test('where all of it is taken, that is known after one trial', async () => {
  const tried: unknown[] = []
  const take = async (some: readonly RouteKey[]) => {
    tried.push(some)
    return undefined
  }
  expect(await findRefused(keys('a', 'b'), take)).toEqual([])
  expect(tried).toEqual([['a', 'b']])
})

test('where not even nothing is taken, nobody is to blame', async () => {
  expect(await findRefused(keys(), async () => refusal)).toEqual([])
})

describe('a write', () => {
  const culprits = [{ key: 'a' as RouteKey, reason: 'bad' }]
  const given = async (errors: readonly (Error | undefined)[], found = culprits) => {
    const did: string[] = []
    const left = [...errors]
    const outcome = await writeAllButRefused({
      write: async (refused) => {
        did.push(`write without ${refused.length === 0 ? 'nobody' : refused.map(({ key }) => key).join()}`)
        const error = left.shift()
        if (error !== undefined) throw error
        return 'written'
      },
      isRefusal: (error) => error === refusal,
      findRefused: async (error) => {
        did.push(`search for ${String(error)}`)
        return found
      },
      withoutCulprit: async (error) => `in vain: ${String(error)}`,
    }).catch((error: unknown) => error)
    return { did, outcome }
  }

  test('that is taken is all there is to do', async () => {
    expect(await given([undefined])).toEqual({ did: ['write without nobody'], outcome: 'written' })
  })

  test('that is refused is done again without the culprits', async () => {
    expect(await given([refusal])).toEqual({
      did: ['write without nobody', 'search for Error: the kernel said no', 'write without a'],
      outcome: 'written',
    })
  })

  test('that is refused though nobody alone is', async () => {
    expect(await given([refusal], [])).toEqual({
      did: ['write without nobody', 'search for Error: the kernel said no'],
      outcome: 'in vain: Error: the kernel said no',
    })
  })

  test('that fails otherwise, or fails again, fails', async () => {
    const broken = new Error('no memory')
    expect(await given([broken])).toEqual({ did: ['write without nobody'], outcome: broken })
    expect((await given([refusal, broken])).outcome).toBe(broken)
  })
})
