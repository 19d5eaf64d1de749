import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { editIpvs } from './edit.ts'
import { noDeviations } from './held.ts'
import type { Written } from './held.ts'
import { nodeAddresses } from './node-addresses.ts'
import { planIpvs } from './plan.ts'
import { renderPlan } from './render.ts'
import type { IpvsSettings } from './settings.ts'

const settings: IpvsSettings = {
  family: 'ipv4',
  scheduler: 'rr',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  hasRandomFully: true,
  ...nodeAddresses(['192.0.2.1'], 'ipv4', []),
}
const context = { draining: { has: () => false }, isExcluded: () => false }

/** Few values, so that routes share addresses, entries and servers. */
const anyRoute = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c'),
    clusterIP: fc.constantFrom('10.96.0.1', '10.96.0.2'),
    port: fc.constantFrom(80, 443),
    externalIPs: fc.uniqueArray(fc.constantFrom('10.96.0.1', '198.51.100.1'), { maxLength: 2 }),
    loadBalancerIPs: fc.uniqueArray(fc.constantFrom('198.51.100.1', '198.51.100.2'), { maxLength: 2 }),
    sourceRanges: fc.constantFrom(undefined, ['203.0.113.0/24']),
    endpoints: fc.uniqueArray(fc.constantFrom('10.64.0.1', '10.64.0.2'), { maxLength: 2 }),
  })
  .map(({ name, endpoints, ...rest }) =>
    testRoute(`shop/${name}`, { ...rest, endpoints: endpoints.map((ip) => testEndpoint(ip, 8080, { isLocal: true })) }),
  )
const anyRoutes = fc.uniqueArray(anyRoute, { selector: ({ key }) => key, maxLength: 3 })

const written = (routes: readonly Route[]): Written => ({
  plan: planIpvs(testView(...routes), settings),
  deviations: noDeviations(),
})

function editTo(before: Written, routes: readonly Route[]) {
  const keys = new Set([...before.plan.routesByKey.keys(), ...routes.map(({ key }) => key)])
  return editIpvs(before, testView(...routes), [...keys], context)
}

test('an edit ends at the plan that would be made from scratch, and leaves the one before as it was', () => {
  fc.assert(
    fc.property(anyRoutes, anyRoutes, anyRoutes, (first, second, third) => {
      const before = written(first)
      const text = renderPlan(before.plan)
      const edit = editTo(before, second)
      const other = editTo(before, third)
      expect(renderPlan(edit.after.plan)).toEqual(renderPlan(written(second).plan))
      expect(renderPlan(other.after.plan)).toEqual(renderPlan(written(third).plan))
      expect(renderPlan(before.plan)).toEqual(text)
    }),
    { numRuns: 200 },
  )
})

test('whom source ranges let in is let in at every moment, also while they come and go', () => {
  const open = testRoute('shop/web', { loadBalancerIPs: ['198.51.100.1'] })
  const own = { sourceRanges: ['203.0.113.0/24', '198.51.100.1/32'], sourceRangesCoverNode: true }
  const limited = testRoute('shop/web', { loadBalancerIPs: ['198.51.100.1'], ...own })
  const sets = (from: Route, to: Route) =>
    editTo(written([from]), [to]).entries.map(({ kind, set }) => `${kind} ${set}`)
  expect(sets(open, limited).at(-1)).toBe('add loadBalancerFirewall')
  expect(sets(limited, open)[0]).toBe('delete loadBalancerFirewall')
})

test('an edit that leads nowhere sends nothing', () => {
  fc.assert(
    fc.property(anyRoutes, (routes) => {
      const { servers, unwantedServers, addresses, entries, rules } = editTo(written(routes), routes)
      expect([servers, unwantedServers, addresses.added, addresses.removed, entries]).toEqual([[], [], [], [], []])
      expect([rules.chains, rules.out.added, rules.out.removed]).toEqual([[], [], []])
    }),
    { numRuns: 100 },
  )
})

test('what was refused is left alone until its route changes, and what could not be removed goes with the next edit', () => {
  const web = testRoute('shop/web', { clusterIP: '10.96.0.1' })
  const dns = testRoute('shop/dns', { clusterIP: '10.96.0.2' })
  const { plan, deviations } = written([web, dns])
  const before: Written = {
    plan,
    deviations: {
      ...deviations,
      entries: {
        ...deviations.entries,
        clusterIp: deviations.entries.clusterIp.with(
          new Map([
            ['10.96.0.1,tcp:80', 'missing'],
            ['10.96.0.9,tcp:80', 'surplus'],
          ]),
        ),
      },
    },
  }
  const surplus = { kind: 'delete', set: 'clusterIp', entry: '10.96.0.9,tcp:80' }
  const refused = { kind: 'add', set: 'clusterIp', entry: '10.96.0.1,tcp:80' }
  const view = testView(web, dns)
  expect(editIpvs(before, view, [dns.key], context).entries).toEqual([surplus])
  expect(editIpvs(before, view, [web.key], context).entries).toEqual([refused, surplus])
  expect(editIpvs(before, view, [web.key], context).after.deviations.entries.clusterIp.size).toBe(0)
})
