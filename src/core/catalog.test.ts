import { expect, test } from 'vitest'
import { objectKey } from '../api/records.ts'
import type { ObjectKey } from '../api/records.ts'
import { Catalog, serviceKeyOf } from './catalog.ts'
import { node, rawService, record, service, slice } from './testing/objects.ts'

/** A Catalog, and what it told a listener. */
function given() {
  const catalog = new Catalog()
  const told: string[] = []
  const unsubscribe = catalog.subscribe({
    changed: ({ kind, key, previous, current }) => {
      const how = previous === undefined ? 'new' : current === undefined ? 'gone' : 'changed'
      told.push(`${kind} ${key} ${how}`)
    },
    listed: (kind) => told.push(`${kind} listed`),
  })
  return { catalog, unsubscribe, told: () => told.splice(0) }
}

const web = service('demo/web', { clusterIP: '10.96.0.1' })
const webKey = objectKey(web)
const changedWeb = service('demo/web', { clusterIP: '10.96.0.2' })
const shop = service('demo/shop', { clusterIP: '10.96.0.3' })
const one = slice('demo/web-1', 'web', ['10.0.0.1'])
const two = slice('demo/web-2', 'web', ['10.0.0.2'])

test('tells what is new, changed and gone, and nothing else', () => {
  const { catalog, told } = given()
  catalog.upsert(web)
  expect([catalog.services.get(webKey), told()]).toEqual([web, ['Service demo/web new']])
  catalog.upsert(service('demo/web', { clusterIP: '10.96.0.1' }))
  expect([catalog.get('Service', webKey), told()]).toEqual([web, []])
  catalog.upsert(changedWeb)
  expect([catalog.get('Service', webKey), told()]).toEqual([changedWeb, ['Service demo/web changed']])
  catalog.remove('Service', webKey)
  expect([catalog.services.size, told()]).toEqual([0, ['Service demo/web gone']])
  catalog.remove('Service', webKey)
  expect(told()).toEqual([])
})

test('an object that says the same again stays the same object', () => {
  const { catalog } = given()
  catalog.upsert(web)
  catalog.upsert(structuredClone(web))
  expect(catalog.get('Service', webKey)).toBe(web)
})

test('a listener gets the record from before and the one of now', () => {
  const catalog = new Catalog()
  const events: unknown[] = []
  catalog.subscribe({ changed: (event) => events.push(event) })
  catalog.upsert(web)
  catalog.upsert(changedWeb)
  catalog.remove('Service', webKey)
  const which = { kind: 'Service', key: 'demo/web' }
  expect(events).toEqual([
    { ...which, previous: undefined, current: web },
    { ...which, previous: web, current: changedWeb },
    { ...which, previous: changedWeb, current: undefined },
  ])
})

test('a complete list removes what it lacks, and is told once per kind, after its objects', () => {
  const { catalog, told } = given()
  catalog.replace('Service', [web, shop])
  expect(told()).toEqual(['Service demo/web new', 'Service demo/shop new', 'Service listed'])
  catalog.replace('Service', [web])
  expect([[...catalog.services.keys()], told()]).toEqual([['demo/web'], ['Service demo/shop gone']])
  catalog.replace('Node', [node('here')])
  expect(told()).toEqual(['Node here new', 'Node listed'])
  expect([catalog.nodes.size, catalog.services.size]).toEqual([1, 1])
})

test('a listener need not care for lists, and hears nothing after its subscription has ended', () => {
  const { catalog, unsubscribe, told } = given()
  catalog.subscribe({ changed() {} })
  catalog.replace('ServiceCIDR', [])
  expect([told(), catalog.serviceCidrs.size]).toEqual([['ServiceCIDR listed'], 0])
  unsubscribe()
  catalog.replace('Service', [web])
  expect(told()).toEqual([])
})

test('is initialised when both Services and slices are complete, however empty', () => {
  const lists = (...kinds: readonly ('Service' | 'EndpointSlice' | 'Node')[]) => {
    const { catalog } = given()
    for (const kind of kinds) catalog.replace(kind, [])
    return catalog
  }
  expect(lists().isInitialised).toBe(false)
  expect(lists('Service', 'Node').isInitialised).toBe(false)
  expect(lists('EndpointSlice').isInitialised).toBe(false)
  expect(lists('EndpointSlice', 'Service').isInitialised).toBe(true)
  expect([lists('Node').hasListed('Node'), lists('Node').hasListed('Service')]).toEqual([true, false])
})

test('waits for Namespaces, too, where they decide what is programmed', () => {
  const catalog = new Catalog({ awaitsNamespaces: true })
  for (const kind of ['Service', 'EndpointSlice'] as const) catalog.replace(kind, [])
  expect(catalog.isInitialised).toBe(false)
  catalog.replace('Namespace', [])
  expect(catalog.isInitialised).toBe(true)
})

test('waits for the weights of pods, where they are read, until they come or will not come', () => {
  const catalog = new Catalog({ awaitsPods: true })
  const listed: string[] = []
  catalog.subscribe({ changed() {}, listed: (kind) => listed.push(`${kind} ${catalog.isInitialised}`) })
  for (const kind of ['Service', 'EndpointSlice'] as const) catalog.replace(kind, [])
  expect(catalog.isInitialised).toBe(false)
  catalog.podsListed()
  catalog.podsListed()
  expect(catalog.isInitialised).toBe(true)
  expect(listed).toEqual(['Service false', 'EndpointSlice false', 'Pod true'])
})

test('knows the slices of each Service, whatever happens to them', () => {
  const { catalog } = given()
  const names = (service: string) => [...catalog.slicesOf(service as ObjectKey).keys()]
  expect(names('demo/web')).toEqual([])
  for (const each of [one, two]) catalog.upsert(each)
  expect(names('demo/web')).toEqual(['demo/web-1', 'demo/web-2'])
  expect([names('demo/shop'), names('other/web')]).toEqual([[], []])

  const changed = slice('demo/web-1', 'web', ['10.0.0.9'])
  catalog.upsert(changed)
  expect(catalog.slicesOf(serviceKeyOf(changed)).get(objectKey(changed))).toBe(changed)

  catalog.upsert(slice('demo/web-1', 'shop', ['10.0.0.9']))
  expect([names('demo/web'), names('demo/shop')]).toEqual([['demo/web-2'], ['demo/web-1']])
  catalog.remove('EndpointSlice', objectKey(two))
  expect([names('demo/web'), [...catalog.slices.keys()]]).toEqual([[], ['demo/web-1']])
  catalog.upsert(two)
  expect(names('demo/web')).toEqual(['demo/web-2'])
})

test('an object of which only metadata have changed is no news', () => {
  const catalog = new Catalog()
  const heard: unknown[] = []
  const web = (resourceVersion: string, labels = {}) =>
    record('Service', rawService('demo/web', { ports: [{ port: 80 }] }, {}, { resourceVersion, labels }))
  catalog.upsert(web('1'))
  catalog.subscribe({ changed: (event) => heard.push(event) })
  catalog.upsert(web('2', { app: 'web' }))
  catalog.replace('Service', [web('3')])
  expect(heard).toEqual([])
})

test('it counts what has changed, and not what was repeated', () => {
  const catalog = new Catalog()
  const web = service('demo/web', { ports: [{ port: 80 }] })
  catalog.replace('Service', [web])
  catalog.replace('Service', [web])
  catalog.upsert(web)
  expect(catalog.changes).toBe(1)
  catalog.remove('Service', objectKey(web))
  catalog.remove('Service', objectKey(web))
  expect(catalog.changes).toBe(2)
})
