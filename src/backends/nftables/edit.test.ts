import { expect, test } from 'vitest'
import type { Route, RouteKey } from '../../core/route.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { editNftables } from './edit.ts'
import { ownerOf } from './element-owners.ts'
import { planNftables } from './plan.ts'
import { renderPlan } from './render.ts'
import type { NftablesState } from './settings.ts'

const state: NftablesState = {
  settings: {
    family: 'ipv4',
    localTraffic: { kind: 'none' },
    masqueradeAll: false,
    masqueradeMark: '0x00004000',
    limitsNodePorts: true,
  },
  nodePortIps: ['192.0.2.1'],
}
const node = { nodePortIps: state.nodePortIps, serviceCidrs: [] }
const endpoints = ['10.77.1.5', '10.77.1.6', '10.77.1.7'].map((ip) => testEndpoint(ip, 8080, { isLocal: true }))
const web = (count: number) =>
  testRoute('shop/web', {
    clusterIP: '10.112.0.21',
    externalIPs: ['192.0.2.60'],
    endpoints: endpoints.slice(0, count),
  })
/** Comes first by name, and wants the same address. */
const rival = testRoute('shop/a', {
  clusterIP: '10.112.0.22',
  externalIPs: ['192.0.2.60'],
  affinitySeconds: 60,
  endpoints,
})

function changes(...routes: readonly Route[]): ReadonlyMap<RouteKey, Route> {
  return new Map(routes.map((route) => [route.key, route]))
}

test('an edit changes nothing of the plan that it starts from, so that it may be refused', () => {
  const before = planNftables(testView(web(2)), state)
  const text = renderPlan(before)
  const other = { nodePortIps: ['192.0.2.9'], serviceCidrs: ['10.112.0.0/16'] }
  const { after } = editNftables(before, changes(web(3), rival), other)
  expect(renderPlan(after)).not.toBe(text)
  expect(renderPlan(before)).toBe(text)
})

test('of two edits of one plan, each is as if there were no other', () => {
  const before = planNftables(testView(web(2)), state)
  const gone = editNftables(before, new Map([[web(2).key, undefined]]), node)
  const more = editNftables(before, changes(web(3)), node)
  expect(renderPlan(gone.after)).toBe(renderPlan(planNftables(testView(), state)))
  expect(renderPlan(more.after)).toBe(renderPlan(planNftables(testView(web(3)), state)))
  expect(gone.after.unusedChains).toEqual(['pick-2', 'external-2'])
})

test('the element of an address goes to whoever comes first by name, and back', () => {
  const shared = { container: 'services', key: '192.0.2.60 . tcp . 80' } as const
  const alone = planNftables(testView(web(2)), state)
  const { after: both } = editNftables(alone, changes(rival), node)
  const { after: again } = editNftables(both, new Map([[rival.key, undefined]]), node)
  expect([alone, both, again].map(({ owners }) => ownerOf(owners, shared))).toEqual([web(2).key, rival.key, web(2).key])
})
