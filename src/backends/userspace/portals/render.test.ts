import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../../core/testing/routes.ts'
import { renderPortals } from './render.ts'
import { portalSettings } from './settings.ts'

const view = testView()
const settings = portalSettings(
  {
    family: 'ipv4',
    localTraffic: { kind: 'cidr', cidr: '10.64.0.0/24' },
    masqueradeAll: false,
    nodePortAddresses: [],
    localIps: () => [view.node.ip],
  },
  view.node,
)
const endpoints = [testEndpoint('10.64.0.5', 8080, { isLocal: true }), testEndpoint('10.64.1.5', 8080)]

test('a Service whose pods see the client is shown with all that it takes', () => {
  const web = testRoute('shop/web', { endpoints })
  const { rules, listeners, routing } = renderPortals(testView(web), settings)
  expect(rules.slice(0, rules.indexOf('*filter'))).toBe(
    [
      '*mangle',
      ':KUBE-PORTALS-ANSWERS - [0:0]',
      '-A KUBE-PORTALS-ANSWERS -m socket --transparent -j MARK --or-mark 0x1000',
      '-I PREROUTING -m comment --comment "kubernetes service portals: answers of pods to clients" -j KUBE-PORTALS-ANSWERS',
      'COMMIT',
      '',
    ].join('\n'),
  )
  expect(listeners).toContain('-> 10.64.0.5:8080 10.64.1.5:8080 (pods keep their address)\n')
  expect(routing).toBe(
    [
      '# ip -4 rule add priority 91 fwmark 0x1000/0x1000 nop',
      '# ip -4 rule add priority 89 iif lo fwmark 0x1000/0x1000 goto 91',
      '# ip -4 rule add priority 90 fwmark 0x1000/0x1000 lookup 4096',
      '# ip -4 route add local default dev lo table 4096',
      '',
    ].join('\n'),
  )
})

test('without such a Service there is no trace of it', () => {
  const { rules, listeners, routing } = renderPortals(
    testView(testRoute('shop/web', { endpoints, relaying: { clientAddress: 'node' } })),
    settings,
  )
  expect(rules).not.toContain('*mangle')
  expect(listeners).not.toContain('keep their address')
  expect(routing).toBe('')
})
