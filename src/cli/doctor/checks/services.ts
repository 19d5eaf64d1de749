import type { ServiceRecord, SliceRecord } from '../../../api/records.ts'
import { objectKey } from '../../../api/records.ts'
import type { Route } from '../../../core/route.ts'
import { check } from '../check.ts'
import type { ClusterFacts } from '../evidence/cluster.ts'

const look = 'kubectl get endpointslices -n NAMESPACE -l kubernetes.io/service-name=NAME'

export const services = check({
  name: 'services',
  title: 'Services that nobody serves',
  systems: ['linux', 'win32', 'darwin'],
  needs: ['cluster'],
  isBeforeStart: false,
  finds: {
    'service-no-endpoints': {
      severity: 'warning',
      meaning: 'A Service has no endpoints: its selector matches no pod. Clients are refused.',
      fix: `Compare its selector with the labels of the pods. ${look}.`,
    },
    'service-without-selector': {
      severity: 'warning',
      meaning: 'A Service has no selector and no EndpointSlice: somebody has to write one.',
      fix: 'Add a selector, or an EndpointSlice with the label kubernetes.io/service-name.',
    },
    'service-none-ready': {
      severity: 'warning',
      meaning: 'A Service has endpoints, and none of them is ready.',
      fix: 'Look at the readiness probes of its pods: kubectl get pods -o wide, kubectl describe pod.',
    },
    'service-port-unknown': {
      severity: 'warning',
      meaning: 'A Service has endpoints, but none for this port: no slice has a port of this name and protocol.',
      fix: 'Make targetPort name a port of the pods; in hand-written slices, give the port the name of the Service port.',
    },
    'service-other-family': {
      severity: 'warning',
      meaning: 'A Service has an address of one IP family, and endpoints of the other family only.',
      fix: 'Give the pods addresses of this family, or set ipFamilies of the Service.',
    },
    'service-none-on-node': {
      severity: 'note',
      meaning: 'Traffic policy Local, and no endpoint on this node: clients that arrive here are not served here.',
      fix: 'Expected where a load balancer checks healthCheckNodePort. Else run a pod on each node, or use policy Cluster.',
    },
  },
  *run(_, { cluster }, find) {
    for (const { name, routes } of unserved(cluster)) {
      const shown = routes.slice(0, mostShown)
      for (const { what, evidence, fix } of shown) yield find(name, { what, evidence, ...(fix && { fix }) })
      const more = routes.slice(mostShown)
      if (more.length > 0)
        yield find(name, {
          what: `The same holds for ${more.length} more Service ports.`,
          evidence:
            more
              .slice(0, 10)
              .map(({ route }) => route)
              .join(', ') + (more.length > 10 ? ', …' : ''),
        })
    }
  },
})

const mostShown = 10

type Name =
  | 'service-no-endpoints'
  | 'service-without-selector'
  | 'service-none-ready'
  | 'service-port-unknown'
  | 'service-other-family'
  | 'service-none-on-node'

interface Unserved {
  readonly name: Name
  readonly route: string
  readonly what: string
  readonly evidence: string
  readonly fix?: string
}

function unserved(cluster: ClusterFacts): readonly { readonly name: Name; readonly routes: readonly Unserved[] }[] {
  const byName = new Map<Name, Unserved[]>()
  for (const { routesByKey } of cluster.views)
    for (const route of routesByKey.values()) {
      const found = whyUnserved(route, cluster)
      if (found === undefined) continue
      const known = byName.get(found.name)
      if (known === undefined) byName.set(found.name, [found])
      else known.push(found)
    }
  return [...byName].map(([name, routes]) => ({ name, routes }))
}

function whyUnserved(route: Route, { catalog, withoutSelector }: ClusterFacts): Unserved | undefined {
  const key = objectKey(route)
  const address = `${route.namespace}/${route.name}, port ${route.port}/${route.protocol}, ${route.family}`
  const base = { route: address }
  const service = catalog.services.get(key)
  const slices = [...catalog.slicesOf(key).values()]
  if (route.hasUsableEndpoint) {
    if (route.reachableEndpoints.length > 0 || service === undefined) return undefined
    return {
      ...base,
      name: 'service-none-on-node',
      what: `${address} has no endpoint on this node, and its policy is Local.`,
      evidence: `${policies(service)}; ${route.endpoints.length} endpoints, 0 on this node`,
    }
  }
  if (slices.every(({ endpoints }) => endpoints.length === 0)) {
    const isWithout = withoutSelector.has(key)
    return {
      ...base,
      name: isWithout ? 'service-without-selector' : 'service-no-endpoints',
      what: `${address} has no endpoints${isWithout ? ', and no selector that would find some' : ''}.`,
      evidence:
        slices.length === 0 ? 'no EndpointSlice names it' : `${slices.map(({ name }) => name).join(', ')}: no endpoint`,
      ...(isWithout
        ? {}
        : {
            fix: `Compare its selector with the labels of the pods: kubectl get service ${route.name} -n ${route.namespace} -o yaml.`,
          }),
    }
  }
  const ofFamily = slices.filter((slice) => slice.family === route.family && slice.endpoints.length > 0)
  if (ofFamily.length === 0)
    return {
      ...base,
      name: 'service-other-family',
      what: `${address} has endpoints of the other IP family only.`,
      evidence: sliceList(slices),
    }
  const hasPort = ofFamily.some(({ ports }) =>
    ports.some(({ name, protocol }) => name === route.portName && protocol === route.protocol),
  )
  if (!hasPort)
    return {
      ...base,
      name: 'service-port-unknown',
      what: `${address}: no EndpointSlice has a port named "${route.portName}" with protocol ${route.protocol}.`,
      evidence: sliceList(ofFamily),
    }
  if (route.endpoints.length === 0)
    return {
      ...base,
      name: 'service-none-ready',
      what: `${address} has no endpoint that may be used.`,
      evidence: sliceList(ofFamily),
    }
  const states = route.endpoints
    .slice(0, 5)
    .map(
      ({ address: endpoint, ready, serving, terminating }) =>
        `${endpoint} ready=${ready} serving=${serving} terminating=${terminating}`,
    )
  const more = route.endpoints.length - states.length
  return {
    ...base,
    name: 'service-none-ready',
    what: `${address} has ${route.endpoints.length} endpoints, and none is ready.`,
    evidence: [...states, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
  }
}

function policies({ internalTrafficPolicy, externalTrafficPolicy }: ServiceRecord): string {
  return `internalTrafficPolicy ${internalTrafficPolicy}, externalTrafficPolicy ${externalTrafficPolicy}`
}

function sliceList(slices: readonly SliceRecord[]): string {
  return slices
    .slice(0, 5)
    .map(({ name, family, ports, endpoints }) => {
      const names = ports.map((port) => `"${port.name}" ${port.port}/${port.protocol}`).join(', ') || 'none'
      return `${name}: ${family}, ${endpoints.length} endpoints, ports ${names}`
    })
    .join('\n')
}
