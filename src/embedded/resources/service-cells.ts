/** The row of `kubectl get service`. */
import type { TableColumn } from '../resource.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import type { Service, ServicePort } from './service-type.ts'

export const serviceColumns: readonly TableColumn[] = [
  nameColumn,
  column('Type', 'How the Service is exposed.'),
  column('Cluster-IP', 'The virtual address, or None.'),
  column('External-IP', 'Addresses that are reached from outside.'),
  column('Port(s)', 'The ports, with node ports after a colon.'),
  ageColumn,
  column('Selector', 'Labels of the pods that serve.', 1),
]

export function serviceCells(service: Service, nowMs: number): string[] {
  const { spec, metadata } = service
  return [
    metadata.name,
    spec.type,
    spec.clusterIPs?.[0] ?? spec.clusterIP ?? '<none>',
    externalAddresses(service),
    renderPorts(spec.ports ?? []),
    renderAge(metadata.creationTimestamp, nowMs),
    renderLabels(spec.selector ?? {}),
  ]
}

function renderLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',')
}

function externalAddresses({ spec, status }: Service): string {
  const ips = spec.externalIPs ?? []
  switch (spec.type) {
    case 'ExternalName':
      return spec.externalName ?? '<none>'
    case 'LoadBalancer': {
      const ingress = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || [])
      const unique = [...new Set([...ingress.sort(), ...ips])]
      return unique.length === 0 ? '<pending>' : unique.join(',')
    }
    default:
      return ips.length === 0 ? '<none>' : ips.join(',')
  }
}

function renderPorts(ports: readonly ServicePort[]): string {
  if (ports.length === 0) return '<none>'
  return ports
    .map(({ port, nodePort, protocol }) => (nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`))
    .join(',')
}
