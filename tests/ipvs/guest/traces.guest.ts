/** What the ipvs mode sends to a Jaeger on the same node. */
import { expect, test } from 'vitest'
import { service, slice } from '../../e2e/testing/objects.ts'
import { collectorPorts, linksOf } from '../../cluster/testing/jaeger.ts'
import { hooks, nodeFlags, shape, TracedSite, tracingPage } from '../../cluster/testing/traced-site.ts'

const firstTree = `syncProxyRules
  prepare
    commit
  read
  plan
  compare
  apply
    commit${hooks}`
const changeTree = `syncProxyRules
  plan
  apply
    commit${hooks}`

const web = (address: string) => [
  service('web', 80, { clusterIP: '10.96.0.10' }),
  slice('web', 8080, { addresses: [address] }),
]

test('in Jaeger the trees are those of the page', async () => {
  await using site = await TracedSite.make(...web('192.0.2.7'))
  site.useIptables('legacy')
  const flags = [`--objects=${site.objects}`, '--proxy-mode=ipvs', ...nodeFlags]
  await using daemon = site.fairlead(flags, collectorPorts.http)
  const first = await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, daemon)
  expect(shape(first)).toBe(firstTree)
  await site.write(...web('192.0.2.8'))
  const event = await site.root('OnEndpointSliceUpdate', {}, daemon)
  const sync = await site.root('syncProxyRules', { trigger: 'change' }, daemon)
  expect(shape(sync)).toBe(changeTree)
  expect(linksOf(sync.root)).toEqual([event.trace.traceID])
  for (const tree of [firstTree, changeTree]) expect(tracingPage).toContain(tree)
})
