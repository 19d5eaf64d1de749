import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { editIptables } from './edit.ts'
import { planIptables, ruleCount } from './plan.ts'
import type { IptablesPlan } from './plan.ts'
import { renderPlan } from './render.ts'
import { assumedSettings } from './settings-source.ts'

const settings = assumedSettings({
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  localhostNodePorts: false,
  nodePortAddresses: ['192.0.2.0/24'],
  dropsInvalid: true,
  localIps: () => ['192.0.2.1'],
})
const web = (...ips: readonly string[]) =>
  testRoute('demo/web', { nodePort: 30_080, endpoints: ips.map((ip) => testEndpoint(ip, 8080)) })
const db = testRoute('demo/db', { clusterIP: '10.96.0.2', endpoints: [testEndpoint('10.64.0.9', 5432)] })

/** Where a Service stands among the others says nothing, and a plan that was edited does not keep it. */
const linesOf = (plan: IptablesPlan) => renderPlan(plan).split('\n').sort()

test('an edit is a plan of its own, and leaves the one before as it was', () => {
  const before = planIptables(testView(web('10.64.0.1'), db), settings)
  const lines = linesOf(before)
  const view = testView(web('10.64.0.1', '10.64.0.2'))
  const moved = { ...settings, nodePortIps: ['192.0.2.7'] }
  const { after, input } = editIptables(before, { view, settings: moved, keys: [web().key, db.key] })
  expect(linesOf(after)).toEqual(linesOf(planIptables(view, moved)))
  expect(ruleCount(after, 'nat')).toBe(ruleCount(planIptables(view, moved), 'nat'))
  expect(linesOf(before)).toEqual(lines)
  // Whoever was refused tries again from the same plan, and sends the same.
  expect(editIptables(before, { view, settings: moved, keys: [web().key, db.key] }).input.render()).toBe(input.render())
})

test('a route that is the same object, or was never there, is no reason to send anything', () => {
  const view = testView(db)
  const before = planIptables(view, settings)
  const { input, after } = editIptables(before, { view, settings, keys: [db.key, web().key] })
  expect(input.isEmpty).toBe(true)
  expect(after.totals).toEqual(before.totals)
})
