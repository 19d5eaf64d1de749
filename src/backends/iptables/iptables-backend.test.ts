import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { RouteTable } from '../../core/route-table.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { anyStep, applyStep } from '../../core/testing/histories.ts'
import { service, slice } from '../../core/testing/objects.ts'
import { savedRulesHash } from '../../dataplane/iptables/change-detector.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import type { Table } from '../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../dataplane/iptables/memory-iptables.ts'
import { parseSave } from '../../dataplane/iptables/save-text.ts'
import { newsFromTokens } from '../../dataplane/iptables/table-news.ts'
import { rulesetDifferences } from '../../../tests/testing/compare-rulesets.ts'
import { ChainWatch } from './chain-watch.ts'
import { IptablesBackend } from './iptables-backend.ts'
import { SettingsSource } from './settings-source.ts'

const never = new AbortController().signal

/** Remembers what was sent. */
class RecordingIptables extends MemoryIptables {
  readonly inputs: string[] = []
  failures = 0

  override async restore(input: string, signal: AbortSignal): Promise<void> {
    this.inputs.push(input)
    if (this.failures > 0) {
      this.failures--
      throw new IptablesError('locked', 'somebody holds the xtables lock')
    }
    await super.restore(input, signal)
  }
}

function setUp(options: { readonly missingMatches?: ReadonlySet<string> } = {}) {
  const catalog = new Catalog()
  catalog.replace('Service', [])
  catalog.replace('EndpointSlice', [])
  const clock = new FakeClock()
  const kernel = new RecordingIptables({ family: 'ipv4', ...options })
  const localIps = ['10.200.0.2', '127.0.0.1']
  const counted = { rules: { filter: {}, nat: {} }, failures: [] as boolean[] }
  const make = (iptables: MemoryIptables) =>
    new IptablesBackend({
      iptables,
      drift: new ChainWatch({
        iptables,
        openNews: () => Promise.resolve(newsFromTokens(savedRulesHash(iptables, ['filter', 'nat']))),
        clock,
        log: silentLogger,
      }),
      metrics: {
        rules: (table, rules) => (counted.rules[table] = rules),
        restoreFailed: ({ isFull }) => counted.failures.push(isFull),
      },
      settings: new SettingsSource({
        iptables,
        log: silentLogger,
        ensureCounter: () => Promise.resolve(true),
        fixed: {
          family: 'ipv4',
          localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
          masqueradeAll: false,
          masqueradeMark: '0x00004000',
          localhostNodePorts: true,
          nodePortAddresses: ['10.200.0.0/16'],
          dropsInvalid: true,
          localIps: () => localIps,
        },
      }),
    })
  const table = () =>
    new RouteTable({
      catalog,
      family: 'ipv4',
      nodeName: 'here',
      nodeIP: '10.200.0.2',
      allowExternalIPs: true,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
  const backend = make(kernel)
  const routes = table()
  const sync = async (full = false) => {
    const { view, change } = routes.take({ full })
    return backend.sync(view, change, never)
  }
  /** What a full sync would leave in an empty kernel. */
  const fromScratch = async () => {
    const fresh = new MemoryIptables({ family: 'ipv4', ...options })
    const { view, change } = table().take({ full: true })
    await make(fresh).sync(view, change, never)
    return saveAll(fresh)
  }
  return { catalog, kernel, backend, sync, fromScratch, localIps, counted, clock }
}

async function saveAll(iptables: MemoryIptables): Promise<string> {
  const texts: string[] = []
  for (const name of ['mangle', 'filter', 'nat'] satisfies Table[]) texts.push(await iptables.save(name, never))
  return texts.join('')
}

const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
const manyServices = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    service(`load/s${i}`, { clusterIP: `10.97.${i >> 8}.${i & 255}`, ports: [{ port: 80 }] }),
  )

test('writing only what changed leaves what writing everything would leave', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (history) => {
      const { catalog, kernel, sync, fromScratch } = setUp()
      await sync(true)
      for (const step of history) {
        applyStep(catalog, step)
        if (step.do === 'sync') await sync()
      }
      await sync()
      expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
    }),
    { numRuns: 150 },
  )
})

describe('a change', () => {
  test('sends the chains of its Service and nothing of the others', async () => {
    const { catalog, kernel, sync } = setUp()
    for (const other of manyServices(50)) catalog.upsert(other)
    catalog.upsert(web)
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1', '10.64.0.2']))
    await sync(true)
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1', '10.64.0.3']))
    await sync()
    const sent = kernel.inputs.at(-1) ?? ''
    expect(sent).not.toContain('load/')
    expect(sent).not.toContain(':KUBE-SERVICES')
    expect(sent.split('\n').filter((line) => line.startsWith('-X'))).toHaveLength(1)
    expect(sent.length).toBeLessThan(4096)
  })

  test('of an address of the node moves the last rules only', async () => {
    const { catalog, kernel, sync, fromScratch, localIps } = setUp()
    catalog.upsert(web)
    await sync(true)
    localIps.push('10.200.0.3')
    await sync()
    expect(
      kernel.inputs
        .at(-1)
        ?.split('\n')
        .filter((line) => /^-[AID]/.test(line)),
    ).toHaveLength(3)
    expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
  })

  test('that changes nothing here sends nothing', async () => {
    const { kernel, sync } = setUp()
    await sync(true)
    await sync()
    expect(kernel.inputs).toHaveLength(1)
  })
})

test('a large cluster is written in pieces that each stand alone, and ends up the same', async () => {
  const { catalog, kernel, sync } = setUp()
  for (const one of manyServices(600)) {
    catalog.upsert(one)
    catalog.upsert(slice(`load/${one.name}-1`, one.name, ['10.64.1.1']))
  }
  await sync(true)
  expect(kernel.inputs).toHaveLength(5)
  const entry = kernel.inputs.at(-1) ?? ''
  for (const piece of kernel.inputs.slice(0, -1)) expect(piece).not.toContain(':KUBE-SERVICES')
  expect(entry.match(/-A KUBE-SERVICES/g)).toHaveLength(601)
  const saved = await saveAll(kernel)
  await sync(true)
  expect(await saveAll(kernel)).toBe(saved)
})

test('a thousand endpoints keep their comments, one more and the rules of endpoints lose them', async () => {
  const { catalog, kernel, sync } = setUp()
  const ips = (count: number) => Array.from({ length: count }, (_, i) => `10.64.${i >> 8}.${i & 255}`)
  catalog.upsert(web)
  catalog.upsert(slice('demo/web-1', 'web', ips(1000)))
  await sync(true)
  expect(await kernel.save('nat', never)).toContain('demo/web -> 10.64.0.1:8080')
  catalog.upsert(slice('demo/web-1', 'web', ips(1001)))
  await sync()
  const saved = await kernel.save('nat', never)
  expect(saved).not.toContain('demo/web -> ')
  expect(saved).toContain('demo/web cluster IP')
})

test('a change that meets rules which others flushed repairs everything at once', async () => {
  const { catalog, kernel, sync, fromScratch, counted } = setUp()
  catalog.upsert(web)
  catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1']))
  await sync(true)
  await kernel.restore('*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n', never)
  catalog.remove('Service', 'demo/web' as never)
  catalog.upsert(service('demo/db', { clusterIP: '10.96.0.2', ports: [{ port: 80 }] }))
  await sync()
  expect(counted.failures).toEqual([false])
  expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
})

test('a kernel whose rules cannot use counters is programmed without them', async () => {
  const { catalog, kernel, sync } = setUp({ missingMatches: new Set(['nfacct']) })
  catalog.upsert(web)
  expect(await sync(true)).toMatchObject({ failed: [] })
  const saved = await saveAll(kernel)
  expect(saved).toContain('--ctstate INVALID -j DROP')
  expect(saved).not.toContain('nfacct')
})

describe('a failure', () => {
  test('is counted, and the full sync after it repairs everything', async () => {
    const { catalog, kernel, sync, fromScratch, counted } = setUp()
    await sync(true)
    catalog.upsert(web)
    kernel.failures = 1
    await expect(sync()).rejects.toThrow('xtables lock')
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1']))
    await sync(true)
    expect(counted.failures).toEqual([false])
    expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
  })

  test('leaves no basis for a partial sync, whatever is asked for', async () => {
    const { catalog, kernel, sync, fromScratch } = setUp()
    await sync(true)
    catalog.upsert(web)
    kernel.failures = 1
    await expect(sync()).rejects.toThrow('xtables lock')
    await sync(false)
    expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
  })
})

test('a rule that the kernel refuses costs its own Service only, which is named with the reason', async () => {
  const { catalog, kernel, sync, counted } = setUp({ missingMatches: new Set(['recent']) })
  for (const other of manyServices(20)) {
    catalog.upsert(other)
    catalog.upsert(slice(`load/${other.name}-1`, other.name, ['10.64.1.1']))
  }
  const sticky = (name: string, ip: string) =>
    service(`demo/${name}`, { clusterIP: ip, ports: [{ port: 80 }], sessionAffinity: 'ClientIP' })
  catalog.upsert(sticky('one', '10.96.0.1'))
  catalog.upsert(slice('demo/one-1', 'one', ['10.64.0.1']))
  catalog.upsert(sticky('two', '10.96.0.2'))
  catalog.upsert(slice('demo/two-1', 'two', ['10.64.0.2']))
  const report = await sync(true)
  expect(report.failed.map(({ key }) => key)).toEqual(['demo/one/TCP', 'demo/two/TCP'])
  expect(report.failed[0]?.reason).toContain('recent')
  const saved = await saveAll(kernel)
  expect(saved.match(/load\/s\d+ cluster IP" -m tcp --dport 80 -j KUBE-SVC/g)).toHaveLength(20)
  expect(saved).not.toContain('demo/one')
  expect(saved).not.toContain('TRIAL')
  expect(counted.failures).toEqual([true])
})

test('a fresh node has as many rules as kube-proxy counts', async () => {
  const { sync, counted } = setUp()
  await sync(true)
  // This node's ports are not open on loopback, so the rule against neighbours on loopback is not there.
  expect(counted.rules).toEqual({ filter: { total: 3, last: 3 }, nat: { total: 5, last: 5 } })
})

test('chains that an earlier process left behind go, foreign ones and those of the kubelet stay', async () => {
  const { kernel, sync } = setUp()
  await kernel.restore(
    '*filter\n:KUBE-FIREWALL - [0:0]\n-A KUBE-FIREWALL -j DROP\nCOMMIT\n' +
      '*nat\n:KUBE-SVC-OLD - [0:0]\n:KUBE-SEP-OLD - [0:0]\n:DOCKER - [0:0]\n-A KUBE-SVC-OLD -j KUBE-SEP-OLD\nCOMMIT\n',
    never,
  )
  await sync(true)
  const saved = await saveAll(kernel)
  expect(saved).not.toContain('OLD')
  expect(saved).toContain(':DOCKER')
  expect(saved).toContain('-A KUBE-FIREWALL -j DROP')
})

test('a chain that an earlier process left behind, and that a foreign rule jumps to, is emptied', async () => {
  const { kernel, sync } = setUp()
  await kernel.restore(
    '*nat\n:KUBE-SVC-OLD - [0:0]\n:KUBE-SEP-OLD - [0:0]\n:DOCKER - [0:0]\n' +
      '-A KUBE-SVC-OLD -j KUBE-SEP-OLD\n-A DOCKER -p tcp -j KUBE-SVC-OLD\nCOMMIT\n',
    never,
  )
  await sync(true)
  const saved = await saveAll(kernel)
  expect(saved).not.toContain('KUBE-SEP-OLD')
  expect(saved).not.toContain('-A KUBE-SVC-OLD')
  expect(saved).toContain('-A DOCKER -p tcp -j KUBE-SVC-OLD')
})

test('a jump that an operator has put below a rule of his own stays where it is', async () => {
  const { kernel, sync } = setUp()
  await sync(true)
  await kernel.ensureRule('filter', 'FORWARD', ['-j', 'ACCEPT'], never)
  const before = await saveAll(kernel)
  await sync(true)
  expect(await saveAll(kernel)).toBe(before)
})

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
    expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
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
    expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
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
    expect(rulesetDifferences(await saveAll(kernel), await fromScratch())).toEqual([])
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
        const isDamaged = rulesetDifferences(await saveAll(kernel), await fromScratch(), unordered).length > 0
        await clock.advance(5_000)
        expect(found.length > 0).toBe(isDamaged)
        if (isDamaged) await sync(true)
        expect(rulesetDifferences(await saveAll(kernel), await fromScratch(), unordered)).toEqual([])
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
