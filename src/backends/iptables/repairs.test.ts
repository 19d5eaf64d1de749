import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { service, slice } from '../../core/testing/objects.ts'
import type { MemoryIptables } from '../../dataplane/iptables/memory-iptables.ts'
import { parseSave } from '../../dataplane/iptables/save-text.ts'
import { rulesetDifferences } from '../../../tests/testing/compare-rulesets.ts'
import { manyServices, never, setUp, web } from './testing/backend-site.ts'

const jumpToServices = 'PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES'

interface AnyDamage {
  readonly kind: string
  readonly where: number
  readonly which: number
}

/** To a chain of ours, or to our jumps. */
async function doDamage(kernel: MemoryIptables, { kind, where, which }: AnyDamage): Promise<void> {
  const table = where % 2 === 0 ? 'nat' : 'filter'
  const chains = [...(parseSave(await kernel.save(table, never)).get(table) ?? [])].filter(
    ([name]) => name.startsWith('KUBE-') || name === 'PREROUTING' || name === 'FORWARD',
  )
  const [chain, rules] = chains[where % chains.length] ?? ['', []]
  const rule = rules[which % Math.max(1, rules.length)]
  const isOurs = chain.startsWith('KUBE-')
  const lines: string[] = []
  if (kind === 'leftover') lines.push(`:KUBE-SVC-GONE${which % 3} - [0:0]`, `-A KUBE-SVC-GONE${which % 3} -j RETURN`)
  else if (kind === 'empty' && isOurs) lines.push(`-F ${chain}`)
  else if (kind === 'add' && isOurs) lines.push(`-I ${chain} -j RETURN`)
  else if (rule !== undefined) {
    lines.push(`-D ${chain} ${rule}`)
    if (kind === 'replace' && isOurs) lines.push(`-I ${chain} -j RETURN`)
  }
  await kernel.restore([`*${kind === 'leftover' ? 'nat' : table}`, ...lines, 'COMMIT', ''].join('\n'), never)
}

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

  test('is repaired, whatever it is', async () => {
    const anyDamage = fc.array(
      fc.record({
        kind: fc.constantFrom('empty', 'delete', 'add', 'replace', 'leftover'),
        where: fc.nat(),
        which: fc.nat(),
      }),
      { minLength: 1, maxLength: 8 },
    )
    const unordered = new Set(['KUBE-SERVICES', 'KUBE-NODEPORTS', 'KUBE-EXTERNAL-SERVICES', 'KUBE-PROXY-FIREWALL'])
    for (const chain of ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']) unordered.add(chain)
    await fc.assert(
      fc.asyncProperty(anyDamage, async (damages) => {
        const { catalog, kernel, clock, found, end, sync, fromScratch } = await watched()
        for (const other of manyServices(5)) {
          catalog.upsert(other)
          catalog.upsert(slice(`load/${other.name}-1`, other.name, ['10.64.1.1', '10.64.1.2']))
        }
        await sync()
        for (const damage of damages) await doDamage(kernel, damage)
        const isDamaged = rulesetDifferences(await kernel.saveAll(never), await fromScratch(), unordered).length > 0
        await clock.advance(5_000)
        expect(found.length > 0).toBe(isDamaged)
        if (isDamaged) await sync(true)
        expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch(), unordered)).toEqual([])
        await end()
      }),
      { numRuns: 100 },
    )
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
