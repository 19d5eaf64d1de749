import { describe, expect, test } from 'vitest'
import { isJsonObject } from '../../api/json-reader.ts'
import { desiredObjects } from './desired-objects.ts'
import { parseManifest } from './manifest.ts'

const desired = (text: string) => desiredObjects(parseManifest(text, 'app.yaml'))

const said = (text: string) =>
  desired(text).notices.map(({ level, message, fields }) => `${level}: ${message}: ${Object.values(fields).join(' ')}`)

const clusterIPs = (text: string) =>
  desired(text).byKind.Service.map(({ metadata, spec }) => {
    const { name } = metadata as { name: string }
    return `${name} ${isJsonObject(spec) ? String(spec['clusterIPs'] ?? spec['clusterIP']) : ''}`
  })

const service = (name: string, spec = '') =>
  `kind: Service\nmetadata: {name: ${name}}\nspec: {ports: [{port: 80}]${spec}}\n`
const join = (...documents: string[]) => documents.join('---\n')

describe('a Service without a cluster IP', () => {
  test('gets one by its name, whatever else is in the files and in which order', () => {
    const [web] = clusterIPs(service('web'))
    expect(web).toMatch(/^web 10\.96\.\d+\.\d+$/)
    expect(said(service('web'))).toEqual([
      `info: Service has no cluster IP in its manifest and gets one: default/web app.yaml:1 ${web?.split(' ')[1]}`,
    ])
    const others = Array.from({ length: 300 }, (_, i) => service(`s${i}`))
    expect(clusterIPs(join(...others, service('web')))).toContain(web)
    const all = clusterIPs(join(...others))
    expect(clusterIPs(join(...others.toReversed())).sort()).toEqual(all.toSorted())
    expect(new Set(all.map((line) => line.split(' ')[1])).size).toBe(300)
  })

  test('leaves every address alone that another Service has', () => {
    const taken = clusterIPs(service('web'))[0]?.split(' ')[1] ?? ''
    const [web, other] = clusterIPs(join(service('web'), service('a', `, clusterIP: ${taken}`)))
    expect(other).toBe(`a ${taken}`)
    expect(web).not.toContain(taken)
  })

  test('gets it from the service range in the files, until that is used up', () => {
    const range = 'kind: ServiceCIDR\nmetadata: {name: kubernetes}\nspec: {cidrs: [192.0.2.0/30]}\n'
    const text = join(range, service('a'), service('b'), service('c'))
    expect(clusterIPs(text).sort()).toEqual(
      ['a 192.0.2.1', 'b 192.0.2.2', 'c undefined'].sort((x, y) => (x < y ? -1 : 1)),
    )
    expect(said(text).filter((line) => line.startsWith('warn'))).toEqual([
      'warn: Service has no cluster IP, and the service range has none left: write one: default/c app.yaml:13',
    ])
  })

  test('gets one of each family that it asks for', () => {
    expect(clusterIPs(service('a', ', ipFamilies: [IPv6]'))[0]).toMatch(/^a fd00:10:96::[0-9a-f]+$/)
    expect(clusterIPs(service('a', ', ipFamilyPolicy: RequireDualStack'))[0]).toMatch(/^a 10\.96\.[\d.]+,fd00:10:96::/)
  })

  test('may have it in the list alone', () => {
    expect(clusterIPs(service('a', ', clusterIPs: [10.96.0.7]'))).toEqual(['a 10.96.0.7'])
    expect(said(service('a', ', clusterIPs: [10.96.0.7]'))).toEqual([])
  })
})

describe('the author of a manifest is told', () => {
  const ip = ', clusterIP: 10.96.0.1'
  test.each([
    [
      'a Service without ports',
      'kind: Service\nmetadata: {name: a}\nspec: {clusterIP: 10.96.0.1}\n',
      'warn: Service has no ports: nothing to proxy: default/a app.yaml:1',
    ],
    [
      'a headless Service',
      service('a', ', clusterIP: None'),
      'info: Service is headless: nothing to proxy: default/a app.yaml:1',
    ],
    [
      'an ExternalName Service',
      'kind: Service\nmetadata: {name: a}\nspec: {type: ExternalName, externalName: x.test}\n',
      'info: Service is a DNS name (ExternalName): nothing to proxy: default/a app.yaml:1',
    ],
    [
      'a node port that is missing',
      service('a', `${ip}, type: NodePort`),
      'warn: port has no nodePort, so nodes do not listen for it: write one: default/a app.yaml:1 80',
    ],
    [
      'a mistyped kind',
      '# a comment\nkind: Servce\nmetadata: {name: a}\n',
      'warn: object is ignored: app.yaml:2 kind "Servce" is unknown, did you mean "Service"?',
    ],
    [
      'a kind in the wrong case',
      'kind: endpointslice\nmetadata: {name: a}\n',
      'warn: object is ignored: app.yaml:1 kind "endpointslice" is unknown, did you mean "EndpointSlice"?',
    ],
    [
      'an unknown version',
      'apiVersion: v2\nkind: Service\nmetadata: {name: a}\n',
      'warn: object is ignored: app.yaml:1 apiVersion "v2" is unknown for kind Service: write v1',
    ],
    [
      'a mistyped group',
      'apiVersion: discovery/v1\nkind: EndpointSlice\nmetadata: {name: a}\n',
      'warn: object is ignored: app.yaml:1 apiVersion "discovery/v1" is unknown for kind EndpointSlice: write discovery.k8s.io/v1',
    ],
    [
      'an unknown field',
      service('a', `${ip},\n  sessionAfinity: ClientIP`),
      'warn: unknown field in a manifest has no effect: Service default/a app.yaml:4 spec.sessionAfinity sessionAffinity',
    ],
    [
      'a kind of somebody else',
      'kind: ServiceAccount\nmetadata: {name: a}\n',
      'info: objects of this kind are ignored, because a service proxy does not use them: ServiceAccount',
    ],
    [
      'a kind of the same name',
      'apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {template: {}}\n',
      'info: objects of this kind are ignored, because a service proxy does not use them: serving.knative.dev/v1 Service',
    ],
  ])('about %s', (_, text, line) => {
    expect(said(text)).toEqual([line])
  })

  test.each(['Pod', 'Role', 'Job', 'Deployment', 'ServiceMonitor', 'Secret', 'ConfigMap', 'Ingress', 'NodePool'])(
    'that a %s is no business of a proxy',
    (kind) => {
      expect(said(`kind: ${kind}\nmetadata: {name: a}\n`)).toEqual([
        `info: objects of this kind are ignored, because a service proxy does not use them: ${kind}`,
      ])
    },
  )
})

test('an EndpointSlice of v1beta1 says in its topology where an endpoint is', () => {
  const topology = '{kubernetes.io/hostname: n1, topology.kubernetes.io/zone: z1}'
  const text = `apiVersion: discovery.k8s.io/v1beta1\nkind: EndpointSlice\nmetadata: {name: a}\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.1], topology: ${topology}}]\n`
  expect(said(text)).toEqual([])
  expect(desired(text).byKind.EndpointSlice[0]?.['endpoints']).toEqual([
    { addresses: ['10.0.0.1'], nodeName: 'n1', zone: 'z1' },
  ])
})

describe('Endpoints', () => {
  const endpoints = (ips: string, more = '') =>
    `kind: Endpoints\nmetadata: {name: db${more}}\nsubsets: [{addresses: [${ips}], ports: [{port: 5432}]}]\n`
  const db = service('db', ', clusterIP: 10.96.0.5')
  const slices = (text: string) =>
    desired(text).byKind.EndpointSlice.map(({ metadata, endpoints: found }) => {
      const addresses = (found as { addresses: string[] }[]).map((endpoint) => endpoint.addresses[0])
      return `${(metadata as { name: string }).name} ${addresses.join(' ')}`
    })

  test('become slices, which keep their name while only addresses change', () => {
    const [before] = slices(join(db, endpoints('{ip: 192.0.2.1}')))
    expect(before).toMatch(/^db-mirrored-[0-9a-f]{8} 192\.0\.2\.1$/)
    const [after] = slices(join(endpoints('{ip: 192.0.2.1}, {ip: 192.0.2.2}'), db))
    expect(after).toBe(`${before} 192.0.2.2`)
  })

  test('replace the slices that a cluster had mirrored, and leave others', () => {
    const labels = 'kubernetes.io/service-name: db, endpointslice.kubernetes.io/managed-by'
    const slice = (name: string, by: string) =>
      `kind: EndpointSlice\nmetadata: {name: ${name}, labels: {${labels}: ${by}}}\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.9]}]\n`
    const text = join(db, slice('db-x', 'endpointslicemirroring-controller.k8s.io'), slice('db-y', 'me'))
    expect(slices(text)).toHaveLength(2)
    expect(slices(join(text, endpoints('{ip: 192.0.2.1}')))).toEqual([
      'db-y 10.0.0.9',
      expect.stringMatching(/^db-mirrored-\w+ 192\.0\.2\.1$/),
    ])
  })

  test.each([
    [
      'no Service',
      endpoints('{ip: 192.0.2.1}'),
      'warn: Endpoints are not used: there is no Service of this name: default/db app.yaml:1',
    ],
    [
      'a Service with a selector',
      join(service('db', ', clusterIP: 10.96.0.5, selector: {a: b}'), endpoints('{ip: 192.0.2.1}')),
      'warn: Endpoints are not used: their Service has a selector; remove it, or write EndpointSlices: default/db app.yaml:5',
    ],
    [
      'what is no address',
      join(db, endpoints('{ip: db.test}')),
      'warn: part of an Endpoints object is ignored: default/db app.yaml:5 "db.test" is not an IP address',
    ],
  ])('with %s are named', (_, text, line) => {
    expect(said(text)).toEqual([line])
    expect(slices(text)).toEqual([])
  })

  test('that are not meant to be mirrored are left alone', () => {
    const text = join(db, endpoints('{ip: 192.0.2.1}', ', labels: {endpointslice.kubernetes.io/skip-mirror: "true"}'))
    expect([said(text), slices(text)]).toEqual([[], []])
  })
})
