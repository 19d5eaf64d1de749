import { describe, expect, test } from 'vitest'
import { service, slice } from '../../core/testing/objects.ts'
import { rulesetDifferences } from '../../../tests/testing/compare-rulesets.ts'
import { manyServices, never, setUp, web } from './testing/backend-site.ts'

const jumpToServices = 'PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES'

describe('what others do to the rules', () => {
  const damages: [string, string][] = [
    ['a flushed chain', '*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n'],
    ['a deleted jump', `*nat\n-D ${jumpToServices}\nCOMMIT\n`],
    ['a rule more in a chain of a Service', '*nat\n-I KUBE-MARK-MASQ -j RETURN\nCOMMIT\n'],
    ['a rule more in a shared chain', '*nat\n-I KUBE-SERVICES -j RETURN\nCOMMIT\n'],
    ['a missing canary', '*nat\n:KUBE-PROXY-CANARY - [0:0]\n-X KUBE-PROXY-CANARY\nCOMMIT\n'],
    ['a chain of a Service that is gone', '*nat\n:KUBE-SVC-GONE - [0:0]\n-A KUBE-SVC-GONE -j RETURN\nCOMMIT\n'],
    ['an emptied chain of an endpoint', '*nat\n:KUBE-SEP-LJKTUBVF7KDOQUPA - [0:0]\nCOMMIT\n'],
  ]

  async function watched() {
    const all = setUp()
    all.catalog.upsert(web)
    all.catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1']))
    await all.sync(true)
    const stop = new AbortController()
    const found: string[] = []
    const watching = all.backend.watch((what) => found.push(what), stop.signal)
    await all.clock.advance(10_000)
    const end = async () => {
      stop.abort()
      await watching
    }
    return { ...all, found, end }
  }

  test.each(damages)('is noticed within five seconds: %s', async (_, damage) => {
    const { kernel, clock, found, end, sync, fromScratch } = await watched()
    expect(found).toEqual([])
    const chain = /KUBE-SEP-\w+/.exec(await kernel.save('nat', never))?.[0] ?? ''
    await kernel.restore(damage.replace(/KUBE-SEP-\w+/, chain), never)
    await clock.advance(5_000)
    expect(found.length).toBeGreaterThan(0)
    await sync(true)
    expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch())).toEqual([])
    await end()
  })

  test('is put back without touching the rest', async () => {
    const { catalog, kernel, clock, found, end, sync, fromScratch } = await watched()
    for (const other of manyServices(20)) catalog.upsert(other)
    await sync()
    const chain = /KUBE-SEP-\w+/.exec(await kernel.save('nat', never))?.[0] ?? ''
    await kernel.restore(`*nat\n:${chain} - [0:0]\n-I PREROUTING -j ACCEPT\n-D ${jumpToServices}\nCOMMIT\n`, never)
    await clock.advance(5_000)
    expect(found).not.toEqual([])
    kernel.inputs.length = 0
    await sync(true)
    expect(kernel.inputs).toHaveLength(1)
    expect(kernel.inputs[0]?.split('\n').filter((line) => /^(:|-[AIX])/.test(line))).toEqual([
      `:${chain} - [0:0]`,
      `-A ${chain} -m comment --comment demo/web -s 10.64.0.1 -j KUBE-MARK-MASQ`,
      `-A ${chain} -m comment --comment demo/web -m tcp -p tcp -j DNAT --to-destination 10.64.0.1:8080`,
      `-I ${jumpToServices}`,
    ])
    await kernel.deleteRule('nat', 'PREROUTING', ['-j', 'ACCEPT'], never)
    expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch())).toEqual([])
    await end()
  })

  test('and what changed meanwhile are both in place afterwards', async () => {
    const { catalog, kernel, clock, found, end, sync, fromScratch } = await watched()
    await kernel.restore('*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n', never)
    await clock.advance(5_000)
    expect(found).not.toEqual([])
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.2']))
    catalog.upsert(service('demo/db', { clusterIP: '10.96.0.2', ports: [{ port: 80 }] }))
    await sync(true)
    expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch())).toEqual([])
    await end()
  })

  test('again and again is repaired less and less often', async () => {
    const { kernel, clock, found, end } = await watched()
    await kernel.restore('*nat\n-I KUBE-MARK-MASQ -j RETURN\nCOMMIT\n', never)
    await clock.advance(10 * 60_000)
    expect(found.length).toBeGreaterThan(5)
    expect(found.length).toBeLessThan(20)
    await end()
  })

  test.each([
    '*nat\n:DOCKER - [0:0]\n-I PREROUTING -j DOCKER\nCOMMIT\n',
    // It cannot be deleted, and does nothing.
    '*nat\n:KUBE-SVC-GONE - [0:0]\n-I PREROUTING -j KUBE-SVC-GONE\nCOMMIT\n',
  ])('to rules of their own is none of our business', async (rules) => {
    const { kernel, clock, found, end } = await watched()
    await kernel.restore(rules, never)
    await clock.advance(10_000)
    expect(found).toEqual([])
    await end()
  })
})
