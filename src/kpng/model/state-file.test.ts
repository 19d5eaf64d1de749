import { expect, test } from 'vitest'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../testing/cluster-samples.ts'
import { fillStore } from '../store/fill-store.ts'
import { parseStateFile, renderStateFile } from './state-file.ts'

test('a state survives being written and read, affinity included', () => {
  const store = syncedStore()
  store.setNode(sampleNode('node-a', 'z1'))
  store.setService(
    sampleService('default/web', {
      Labels: { app: 'web' },
      SessionAffinity: { $case: 'ClientIP', value: { TimeoutSeconds: 60 } },
    }),
  )
  setEndpoints(store, 'default/web', [
    { ip: '10.1.0.1', pod: 'a', node: 'node-a', zones: ['z1'] },
    { ip: '10.1.0.2', ready: false },
  ])
  store.commit()
  const text = renderStateFile(store)
  const copy = syncedStore()
  fillStore(copy, parseStateFile(text, 'state.yaml'))
  copy.commit()
  expect(renderStateFile(copy)).toBe(text)
  expect(copy.services.latest('default/web')?.service?.hash).toBe(store.services.latest('default/web')?.service?.hash)
  expect(text).toContain('sessionaffinity:\n        clientip:\n          timeoutseconds: 60\n')
})

test('what a file leaves out has its default, and an endpoint without a place is nowhere', () => {
  const state = parseStateFile(
    'services:\n- service: {name: web, ips: {clusterips: {v4: [10.96.0.1]}}}\n  endpoints:\n  - endpoint: {ips: {v4: [10.1.0.1]}}\n',
    'state.yaml',
  )
  const [web] = state.services
  expect(web?.service.service).toMatchObject({ Namespace: 'default', Name: 'web', Type: 'ClusterIP', Ports: [] })
  expect(web?.endpoints[0]?.info).toMatchObject({ Topology: { Node: '', Zone: '' }, ServiceName: 'web' })
})

test.each([
  ['services: [{service: {nmae: web}}]', 'state.yaml:1: services[0].service.nmae is unknown: the known keys are '],
  ['services: 7', 'state.yaml:1: services must be a list, not 7'],
  ['\nnodes: [{name: a, topology: x}]', 'state.yaml:2: nodes[0].topology must be an object, not "x"'],
  ['services: [', 'state.yaml: '],
  ['services:\n- service:\n    namespace: a', 'state.yaml:3: services[0].service.name must be a name of letters'],
  [
    web('name: "we\\nb"'),
    'state.yaml:3: services[0].service.name must be a name of letters, digits, "-" and ".", not "we\\nb"',
  ],
  [web('name: a\n    namespace: ../x'), 'state.yaml:4: services[0].service.namespace must be a name'],
  [web('name: a\n    type: Odd'), 'state.yaml:4: services[0].service.type must be ClusterIP, NodePort'],
  [web('name: a\n    ips: {clusterips: {v4: [10.0.0.1, "10.0.0.2; x"]}}'), 'clusterips.v4[1] must be an IPv4 address'],
  [web('name: a\n    ips: {clusterips: {v6: [10.0.0.1]}}'), 'ips.clusterips.v6[0] must be an IPv6 address'],
  [web('name: a\n    ports: [{name: "a b", port: 1}]'), 'ports[0].name must be the name of a port, not "a b"'],
  [web('name: a\n    ports: [{port: 65536}]'), 'ports[0].port must be a number from 1 to 65535, not 65536'],
  [web('name: a\n    ipfilters: [{sourceranges: [10.0.0.0/33]}]'), 'sourceranges[0] must be a CIDR'],
  [web('name: a\n    labels: {"a\\u0007": b}'), 'labels must be a text without control characters, not "a\\u0007"'],
  [
    web('name: a\n- service: {name: b}\n- service: {name: a}'),
    'state.yaml:5: services[2] is a second Service default/a',
  ],
  [
    endpoint('endpoint: {ips: {v4: [nowhere]}}'),
    'state.yaml:5: services[0].endpoints[0].endpoint.ips.v4[0] must be an',
  ],
  [endpoint('endpoint: {hostname: "a\\rb"}'), 'endpoints[0].endpoint.hostname must be a name'],
  [endpoint('podname: "a/b"'), 'endpoints[0].podname must be a name'],
  [endpoint('hints: {zones: ["z\\n1"]}'), 'hints.zones[0] must be a name'],
  ['nodes:\n- {name: "a\\x1b[31m"}', 'state.yaml:2: nodes[0].name must be a name of letters'],
  [
    `nodes: [&a [1,1], &b [${'*a,'.repeat(12)}], &c [${'*b,'.repeat(12)}], [${'*c,'.repeat(12)}]]`,
    'state.yaml: ReferenceError: Excessive alias count',
  ],
])('%j is refused with its place', (text, message) => {
  let problem
  try {
    parseStateFile(text, 'state.yaml')
  } catch (error) {
    problem = error
  }
  expect(problem).toMatchObject({ reason: 'bad-file' })
  expect(String(problem)).toContain(message)
})

test('an annotation may say anything', () => {
  expect(() => parseStateFile(web('name: a\n    annotations: {x: "line\\nline"}'), 'state.yaml')).not.toThrow()
})

function web(fields: string): string {
  return `services:\n- service:\n    ${fields}\n`
}

function endpoint(fields: string): string {
  return `services:\n- service:\n    name: web\n  endpoints:\n  - ${fields}\n`
}
