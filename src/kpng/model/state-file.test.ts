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
  ['services: [{service: {nmae: web}}]', 'state.yaml.services[0].service has an unknown key "nmae"'],
  ['services: 7', 'state.yaml.services must be a list'],
  ['nodes: [{name: a, topology: x}]', 'state.yaml.nodes[0].topology must be an object'],
  ['services: [', 'state.yaml: '],
])('%s is refused with its place', (text, message) => {
  expect(() => parseStateFile(text, 'state.yaml')).toThrow(message)
})
