import { create, get, list, path, service } from './scenario.ts'
import type { Scenario } from './scenario.ts'

const web = service({ ports: [{ port: 80 }] })
const withUnknownField = { ...service({ ports: [{ port: 80 }], colour: 'blue' }), flavour: 'sweet' }

/** What is right or wrong with a request before anybody looks at the spec. */
export const requestScenarios: readonly Scenario[] = [
  {
    name: 'a name in capitals',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { name: 'Web' }))],
  },
  {
    name: 'a Service name that starts with a digit',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { name: '1web' }))],
  },
  {
    name: 'a name of 64 characters',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { name: 'w'.repeat(64) }))],
  },
  {
    name: 'no name',
    differs: 'the real server stumbles over the address first',
    steps: [create('services', { apiVersion: 'v1', kind: 'Service', metadata: {}, spec: { ports: [{ port: 80 }] } })],
  },
  {
    name: 'no metadata',
    differs: 'the real server stumbles over the address first',
    steps: [create('services', { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: 80 }] } })],
  },
  {
    name: 'no kind and version',
    steps: [create('services', { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } })],
  },
  { name: 'bad labels', steps: [create('services', service({ ports: [{ port: 80 }] }, { labels: { 'a b': 'c d' } }))] },
  {
    name: 'bad annotations',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { annotations: { 'a b': 'c d' } }))],
  },
  {
    name: 'a bad finalizer',
    differs: 'the real server reports it twice',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { finalizers: ['a b'] }))],
  },
  {
    name: 'a label that is a number',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { labels: { app: 5 } }))],
  },
  {
    name: 'metadata that the server sets',
    steps: [
      create(
        'services',
        service(
          { ports: [{ port: 80 }] },
          { uid: '00000000-0000-0000-0000-000000000000', creationTimestamp: '2020-01-01T00:00:00Z' },
        ),
      ),
    ],
  },
  {
    name: 'a generation that the client made up',
    differs: 'the real server believes it',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { generation: 7 }))],
  },
  {
    name: 'a creation with a resource version',
    differs: 'the real server answers 500',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { resourceVersion: '1' }))],
  },
  { name: 'a creation twice', steps: [create('services', web), create('services', web)] },
  { name: 'an object of another kind', steps: [create('services', { ...web, kind: 'Pod' })] },
  { name: 'an object of another version', steps: [create('services', { ...web, apiVersion: 'v2' })] },
  {
    name: 'an object of another namespace',
    steps: [create('services', service({ ports: [{ port: 80 }] }, { namespace: 'other' }))],
  },
  {
    name: 'a namespace that does not exist',
    steps: [{ method: 'POST', path: '/api/v1/namespaces/nowhere/services', body: web }],
  },
  {
    name: 'a list of a namespace that does not exist',
    steps: [{ method: 'GET', path: '/api/v1/namespaces/nowhere/services' }],
  },
  {
    name: 'a creation in all namespaces at once',
    steps: [{ method: 'POST', path: '/api/v1/services', body: web }],
  },
  { name: 'an unknown field', steps: [create('services', withUnknownField)] },
  { name: 'an unknown field, strictly', steps: [create('services', withUnknownField, '?fieldValidation=Strict')] },
  { name: 'an unknown field, ignored', steps: [create('services', withUnknownField, '?fieldValidation=Ignore')] },
  { name: 'an unknown way to treat unknown fields', steps: [create('services', web, '?fieldValidation=Sometimes')] },
  { name: 'a body that is no object', steps: [{ method: 'POST', path: path('services'), body: 'web' }] },
  { name: 'no body', steps: [{ method: 'POST', path: path('services') }] },
  {
    name: 'a body of an unknown type',
    steps: [{ method: 'POST', path: path('services'), body: web, contentType: 'text/plain' }],
  },
  {
    name: 'a body in YAML',
    steps: [{ method: 'POST', path: path('services'), body: web, contentType: 'application/yaml' }],
  },
  { name: 'a trial creation', steps: [create('services', web, '?dryRun=All'), get('services', 'web')] },
  { name: 'a trial of an unknown kind', steps: [create('services', web, '?dryRun=Some')] },
  { name: 'a Service that does not exist', steps: [get('services', 'web')] },
  { name: 'a resource that does not exist', steps: [{ method: 'GET', path: '/api/v1/namespaces/demo/unicorns' }] },
  {
    name: 'a group that does not exist',
    differs: 'the real server answers with plain text',
    steps: [{ method: 'GET', path: '/apis/unicorns.example.com/v1/unicorns' }],
  },
  { name: 'a subresource that does not exist', steps: [create('services', web), get('services', 'web/scale')] },
  { name: 'a method that is not allowed', steps: [{ method: 'PUT', path: path('services'), body: web }] },
  { name: 'a list by label', steps: [create('services', web), list('services', 'labelSelector=app%3Dweb')] },
  { name: 'a bad label selector', steps: [list('services', 'labelSelector=a%3D%3D%3Db')] },
  { name: 'a label selector with a bad value', steps: [list('services', 'labelSelector=a%3D%2F')] },
  {
    name: 'a list by type and name',
    steps: [create('services', web), list('services', 'fieldSelector=spec.type%3DClusterIP,metadata.name%3Dweb')],
  },
  {
    name: 'a list without headless Services',
    steps: [
      create('services', service({ clusterIP: 'None', ports: [{ port: 80 }] })),
      list('services', 'fieldSelector=spec.clusterIP!%3DNone'),
    ],
  },
  { name: 'a field selector that is not supported', steps: [list('services', 'fieldSelector=spec.ports%3D80')] },
  { name: 'a bad field selector', steps: [list('services', 'fieldSelector=metadata.name')] },
  {
    name: 'a list in pieces',
    steps: [
      create('services', web),
      create('services', service({ clusterIP: 'None', ports: [{ port: 80 }] }, { name: 'web-2' })),
      list('services', 'limit=1'),
    ],
  },
  { name: 'a bad continuation', steps: [list('services', 'limit=1&continue=nonsense')] },
  { name: 'a bad resource version', steps: [list('services', 'resourceVersion=nonsense')] },
  { name: 'a resource version of the future', steps: [list('services', 'resourceVersion=999999999&timeoutSeconds=1')] },
  {
    name: 'an exact resource version without saying which',
    steps: [list('services', 'resourceVersionMatch=Exact')],
  },
  {
    name: 'an exact resource version of zero',
    steps: [list('services', 'resourceVersionMatch=Exact&resourceVersion=0')],
  },
  {
    name: 'initial events without a match rule',
    steps: [list('services', 'watch=true&sendInitialEvents=true&timeoutSeconds=1')],
  },
  { name: 'initial events in a list', steps: [list('services', 'sendInitialEvents=true')] },
]
