/** The tree of a sync in each mode that programs a kernel, as docs/tracing.md has it. */
import { expect, test } from 'vitest'
import type { Backend } from '../core/backend.ts'
import { FakeClock } from '../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, withWishes } from '../core/testing/routes.ts'
import { misplacedIn, treeLines } from '../observe/tracing/testing/recorded-trees.ts'
import { tracedSyncs } from '../observe/tracing/testing/traced-sync.ts'
import { setUp } from './iptables/testing/backend-site.ts'
import { proxiedNode } from './ipvs/testing/proxied-node.ts'
import { kernelspaceSite } from './kernelspace/testing/kernelspace-site.ts'
import { nftablesSite } from './nftables/testing/nftables-site.ts'

const endpoints = [testEndpoint('10.64.0.1', 8080), testEndpoint('10.64.0.2', 8080)]
const web = testRoute('shop/web', { endpoints, nodePort: 30080 })
const other = testRoute('shop/other', { clusterIP: '10.96.0.11', endpoints })
const attributes = ['command', 'operations', 'routes']

interface Expected {
  readonly first: readonly string[]
  readonly change: readonly string[]
}

/** Counts that depend on how a mode lays things out are not in it. */
const trees: Readonly<Record<string, { readonly open: () => Backend; readonly expected: Expected }>> = {
  nftables: {
    open: () => {
      const site = nftablesSite('ipv4')
      return site.newWorld().open({ settings: () => site.settings, clock: new FakeClock() })
    },
    expected: {
      // The table with its maps, then what is in them.
      first: ['plan', 'read', 'compare', 'apply', '  commit nft transaction', '  commit nft transaction'],
      // What leads to the endpoint; then the chain that chose between two is emptied, and deleted.
      change: ['plan', 'apply', '  commit nft transaction', '  commit nft transaction', '  commit nft transaction'],
    },
  },
  iptables: {
    open: () => setUp().backend,
    expected: {
      first: ['read', 'plan', 'compare', 'apply', '  commit iptables-restore'],
      change: ['plan', 'apply', '  commit iptables-restore'],
    },
  },
  ipvs: {
    open: () => proxiedNode().backend,
    expected: {
      first: [
        'prepare',
        '  commit ip link add',
        '  commit ipset create',
        'read',
        'plan',
        'compare',
        'apply',
        '  commit ipvs',
        '  commit ip address add',
        '  commit ipset',
        '  commit iptables-restore',
      ],
      // The endpoint loses its weight, and goes if nobody is connected to it.
      change: ['plan', 'apply', '  commit ipvs', '  commit ipvs'],
    },
  },
  kernelspace: {
    open: () => {
      const site = kernelspaceSite({ name: 'x', family: 'ipv4', type: 'L2Bridge', hns: {} })
      return site.newWorld().open({ settings: () => undefined, clock: new FakeClock() })
    },
    expected: {
      first: [
        'plan',
        'read',
        'compare',
        'apply',
        '  commit HcnCreateEndpoint',
        '  commit HcnCreateEndpoint',
        '  commit HcnCreateLoadBalancer',
        '  commit HcnCreateLoadBalancer',
        '  commit HcnCreateLoadBalancer',
      ],
      // This HNS cannot change one.
      change: [
        'read',
        'plan',
        'apply',
        '  commit HcnDeleteLoadBalancer',
        '  commit HcnCreateLoadBalancer',
        '  commit HcnDeleteLoadBalancer',
        '  commit HcnCreateLoadBalancer',
      ],
    },
  },
}

for (const [mode, { open, expected }] of Object.entries(trees))
  test(`${mode}: a first sync and one change`, async () => {
    const sync = tracedSyncs(open())
    const first = await sync([web, other])
    expect(shapeOf(treeLines(first, attributes))).toEqual(expected.first)
    const changed = withWishes(web, { endpoints: endpoints.slice(1) })
    const change = await sync([changed, other])
    expect(shapeOf(treeLines(change, attributes))).toEqual(expected.change)
    expect([first, change].flatMap(misplacedIn)).toEqual([])
  })

test('a kernel that refuses is an error of the commit, of what applies it and of the sync', async () => {
  const { kernel, backend } = setUp()
  const sync = tracedSyncs(backend)
  await sync([web])
  kernel.failures = 1
  const failed = await sync([other, web])
  expect(treeLines(failed)).toEqual(['syncProxyRules FAILED', '  plan', '  apply FAILED', '    commit FAILED'])
  expect(failed.children[1]?.children[0]).toMatchObject({
    error: 'somebody holds the xtables lock',
    attributes: { 'error.type': 'locked', command: 'iptables-restore' },
  })
})

test('what a plan has and what is sent is counted', async () => {
  const sync = tracedSyncs(trees['nftables']!.open())
  const { children } = await sync([web, other])
  const [plan, , compare, apply] = children
  expect(plan?.attributes).toEqual({ routes: 2 })
  const sent = apply?.children.map(({ attributes: { operations } }) => Number(operations)) ?? []
  expect(compare?.attributes).toMatchObject({ routes: 2, transactions: sent.length })
  expect(compare?.attributes['operations']).toBe(sent.reduce((sum, operations) => sum + operations, 0))
})

test('what is done outside of a sync is in no trace', async () => {
  const { backend, clock } = proxiedNode()
  const sync = tracedSyncs(backend)
  const tree = await sync([web])
  const before = JSON.stringify(tree)
  const stop = new AbortController()
  const watching = backend.watch(() => {}, stop.signal)
  await clock.advance(120_000)
  stop.abort()
  await watching
  expect(JSON.stringify(tree)).toBe(before)
})

/** Names below the root, and the commands of commits. */
function shapeOf([, ...lines]: readonly string[]): readonly string[] {
  return lines.map((line) =>
    line
      .slice(2)
      .replace(/ (operations|routes)=\d+/g, '')
      .replace('command=', ''),
  )
}
