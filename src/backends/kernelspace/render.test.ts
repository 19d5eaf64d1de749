import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { planKernelspace } from './plan.ts'
import { renderPlan } from './render.ts'
import { testSettings } from './testing/settings.ts'

const here = testEndpoint('10.61.1.5', 8080, { isLocal: true })
const there = testEndpoint('10.61.2.7', 8080)
const web = testRoute('demo/web', { clusterIP: '10.112.0.20', nodePort: 31_080, endpoints: [here, there] })
const schema = '"SchemaVersion":{"Major":2,"Minor":0}'

test('a plan is rendered as the documents that an empty HNS would be sent, with names for ids', () => {
  expect(renderPlan(planKernelspace(testView(web), testSettings))).toEqual([
    {
      part: 'endpoints',
      text:
        '{"HostComputeNetwork":"<network pod-net>","IpConfigurations":[{"IpAddress":"10.61.2.7"}],"Dns":{},' +
        `"MacAddress":"02-11-0a-3d-02-07","Flags":1,"Health":{"Extra":{}},${schema}}\n`,
    },
    {
      part: 'load-balancers',
      text:
        '{"HostComputeEndpoints":["<endpoint 10.61.1.5>","<endpoint 10.61.2.7>"],"FrontendVIPs":["10.112.0.20"],' +
        `"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}],${schema}}\n` +
        '{"HostComputeEndpoints":["<endpoint 10.61.1.5>","<endpoint 10.61.2.7>"],' +
        `"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":31080,"Flags":18}],${schema}}\n`,
    },
  ])
})

test('an overlay network has more endpoints, whose nodes only the node itself knows', () => {
  const settings = { ...testSettings, network: { name: 'pod-net', type: 'overlay' } }
  const [endpoints, balancers] = renderPlan(planKernelspace(testView(web), settings))
  expect(endpoints?.text.match(/"IpAddress":"[^"]*"|"ProviderAddress":"[^"]*"/g)).toEqual([
    '"IpAddress":"10.61.1.2"',
    '"ProviderAddress":"172.30.7.11"',
    '"IpAddress":"10.112.0.20"',
    '"ProviderAddress":"<node of 10.61.2.7>"',
    '"IpAddress":"10.61.2.7"',
  ])
  expect(balancers?.text.match(/"SourceVIP":"10.61.1.2"/g)).toHaveLength(2)
})

test('the order of the objects does not show', () => {
  const other = testRoute('demo/other', { clusterIP: '10.112.0.21', endpoints: [there] })
  const rendered = (...routes: readonly (typeof web)[]) =>
    renderPlan(planKernelspace(testView(...routes), testSettings))
  expect(rendered(web, other)).toEqual(rendered(other, web))
})
