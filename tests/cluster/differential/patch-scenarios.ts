import { create, get, patch, path, service } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

const created = create(
  'services',
  service(
    {
      selector: { app: 'web' },
      ports: [
        { name: 'http', port: 80 },
        { name: 'https', port: 443 },
      ],
    },
    { labels: { app: 'web', tier: 'front' } },
  ),
)

/** The desired state of web, for server-side apply. */
function applied(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return service(spec, metadata)
}

const http = { name: 'http', port: 80, protocol: 'TCP' }
const https = { name: 'https', port: 443, protocol: 'TCP' }

export const patchScenarios: readonly Scenario[] = [
  {
    name: 'a merge patch that sets, changes and removes labels',
    steps: [
      created,
      patch('merge', 'services', 'web', { metadata: { labels: { tier: null, app: 'shop', new: 'yes' } } }),
    ],
  },
  {
    name: 'a merge patch that replaces the ports',
    steps: [created, patch('merge', 'services', 'web', { spec: { ports: [{ port: 81 }] } })],
  },
  {
    name: 'a merge patch that makes it invalid',
    steps: [created, patch('merge', 'services', 'web', { spec: { ports: [{ port: 0 }] } }), get('services', 'web')],
  },
  {
    name: 'a merge patch with an unknown field',
    steps: [created, patch('merge', 'services', 'web', { spec: { colour: 'blue' } })],
  },
  {
    name: 'a merge patch with an unknown field, strictly',
    differs: 'the real server repeats the whole object as the field',
    steps: [created, patch('merge', 'services', 'web?fieldValidation=Strict', { spec: { colour: 'blue' } })],
  },
  {
    name: 'a merge patch of an older version',
    steps: [created, patch('merge', 'services', 'web', { metadata: { resourceVersion: '1', labels: { a: 'b' } } })],
  },
  {
    name: 'a merge patch of the name',
    steps: [created, patch('merge', 'services', 'web', { metadata: { name: 'other' } })],
  },
  { name: 'a merge patch that changes nothing', steps: [created, patch('merge', 'services', 'web', {})] },
  { name: 'a merge patch of what does not exist', steps: [patch('merge', 'services', 'web', { metadata: {} })] },
  { name: 'a merge patch that is a list', steps: [created, patch('merge', 'services', 'web', [])] },
  {
    name: 'a trial merge patch',
    steps: [
      created,
      patch('merge', 'services', 'web?dryRun=All', { metadata: { labels: { tried: 'yes' } } }),
      get('services', 'web'),
    ],
  },

  {
    name: 'a JSON patch that adds, replaces, moves and removes',
    steps: [
      created,
      patch('json', 'services', 'web', [
        { op: 'test', path: '/metadata/labels/app', value: 'web' },
        { op: 'add', path: '/spec/ports/-', value: { name: 'admin', port: 9090 } },
        { op: 'replace', path: '/spec/ports/0/port', value: 8080 },
        { op: 'remove', path: '/metadata/labels/tier' },
        { op: 'copy', from: '/metadata/labels/app', path: '/metadata/labels/copy~1of' },
        { op: 'move', from: '/spec/selector/app', path: '/spec/selector/name' },
      ]),
    ],
  },
  {
    name: 'a JSON patch whose test fails',
    steps: [created, patch('json', 'services', 'web', [{ op: 'test', path: '/metadata/labels/app', value: 'no' }])],
  },
  {
    name: 'a JSON patch that removes what is not there',
    steps: [created, patch('json', 'services', 'web', [{ op: 'remove', path: '/metadata/labels/absent' }])],
  },
  {
    name: 'a JSON patch with an unknown operation',
    steps: [created, patch('json', 'services', 'web', [{ op: 'swap', path: '/metadata/labels/app' }])],
  },
  { name: 'a JSON patch that is no list', steps: [created, patch('json', 'services', 'web', { op: 'test' })] },

  {
    name: 'a strategic patch that adds a port by its key',
    steps: [created, patch('strategic', 'services', 'web', { spec: { ports: [{ name: 'admin', port: 9090 }] } })],
  },
  {
    name: 'a strategic patch that changes a port by its key',
    steps: [created, patch('strategic', 'services', 'web', { spec: { ports: [{ port: 80, targetPort: 8080 }] } })],
  },
  {
    name: 'a strategic patch that deletes a port',
    steps: [created, patch('strategic', 'services', 'web', { spec: { ports: [{ $patch: 'delete', port: 80 }] } })],
  },
  {
    name: 'a strategic patch that replaces the ports',
    steps: [
      created,
      patch('strategic', 'services', 'web', { spec: { ports: [{ $patch: 'replace' }, { name: 'only', port: 1 }] } }),
    ],
  },
  {
    name: 'a strategic patch that orders the ports',
    steps: [
      created,
      patch('strategic', 'services', 'web', {
        spec: {
          '$setElementOrder/ports': [{ port: 443 }, { port: 9090 }, { port: 80 }],
          ports: [{ name: 'admin', port: 9090 }],
        },
      }),
    ],
  },
  {
    name: 'a strategic patch that removes from a list of values',
    steps: [
      create('services', service({ ports: [{ port: 80 }] }, { finalizers: ['example.com/a', 'example.com/b'] })),
      patch('strategic', 'services', 'web', {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] },
      }),
      patch('merge', 'services', 'web', { metadata: { finalizers: null } }),
    ],
  },
  {
    name: 'a strategic patch that replaces a map',
    steps: [
      created,
      patch('strategic', 'services', 'web', { spec: { selector: { $patch: 'replace', only: 'this' } } }),
    ],
  },
  {
    name: 'a strategic patch that keeps only some fields of a map',
    steps: [
      created,
      patch('strategic', 'services', 'web', { metadata: { labels: { $retainKeys: ['app'], app: 'shop' } } }),
    ],
  },
  {
    name: 'a patch of an unknown kind',
    steps: [created, { method: 'PATCH', path: path('services', '/web'), body: {}, contentType: 'application/json' }],
  },

  {
    name: 'an apply that creates',
    steps: [patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] })), get('services', 'web')],
  },
  {
    name: 'an apply that changes nothing',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] })),
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] })),
    ],
  },
  {
    name: 'an apply that no longer has what it had',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http, https] }, { labels: { a: 'b' } })),
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [https] })),
    ],
  },
  {
    name: 'two managers that apply different ports',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] })),
      patch('apply', 'services', 'web?fieldManager=bob', applied({ ports: [https] })),
      patch('apply', 'services', 'web?fieldManager=alice', applied({})),
    ],
  },
  {
    name: 'two managers that apply the same value',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http], selector: { app: 'web' } })),
      patch('apply', 'services', 'web?fieldManager=bob', applied({ selector: { app: 'web' } })),
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] })),
    ],
  },
  {
    name: 'an apply that conflicts with another, then by force',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http], sessionAffinity: 'None' })),
      patch('apply', 'services', 'web?fieldManager=bob', applied({ sessionAffinity: 'ClientIP' })),
      patch('apply', 'services', 'web?fieldManager=bob&force=true', applied({ sessionAffinity: 'ClientIP' })),
    ],
  },
  {
    name: 'an apply that conflicts with an update',
    steps: [
      created,
      patch('merge', 'services', 'web?fieldManager=carol', { spec: { internalTrafficPolicy: 'Local' } }),
      patch('apply', 'services', 'web?fieldManager=alice', applied({ internalTrafficPolicy: 'Cluster' })),
    ],
  },
  {
    name: 'an apply without a manager',
    steps: [patch('apply', 'services', 'web', applied({ ports: [http] }))],
  },
  {
    name: 'an apply with managed fields',
    steps: [patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] }, { managedFields: [{}] }))],
  },
  {
    name: 'an apply with the same port twice',
    differs: 'the real server answers 500',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http, { ...http, name: 'again' }] })),
    ],
  },
  {
    name: 'an apply with an unknown field',
    differs: 'the real server answers 500',
    steps: [patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http], colour: 'blue' }))],
  },
  {
    name: 'an apply that is invalid',
    steps: [patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [{ ...http, port: 0 }] }))],
  },
  {
    name: 'an apply under another name',
    steps: [patch('apply', 'services', 'web?fieldManager=alice', applied({ ports: [http] }, { name: 'other' }))],
  },
  {
    name: 'a forced merge patch',
    steps: [created, patch('merge', 'services', 'web?force=true', { metadata: { labels: { a: 'b' } } })],
  },
  {
    name: 'a trial apply',
    steps: [
      patch('apply', 'services', 'web?fieldManager=alice&dryRun=All', applied({ ports: [http] })),
      get('services', 'web'),
    ],
  },
]
