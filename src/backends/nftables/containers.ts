/** The sets and maps of the table. Everything that changes with Services is an element of one of them. */
import type { FieldType, SetDeclaration } from '../../dataplane/nft/nft.ts'
import type { Family } from '../../net/ip.ts'
import type { NftablesSettings } from './settings.ts'
import type { TableShape } from './table-shape.ts'

export type ContainerName = ReturnType<typeof containerList>[number]['name']

type ContainerSettings = Pick<NftablesSettings, 'family' | 'countsEndpoints'>

export type Containers = Readonly<Record<ContainerName, SetDeclaration>>

/** They are there as long as some Service has a range of ports. */
export const rangeContainerNames: ReadonlySet<string> = new Set<ContainerName>([
  'ranges',
  'range-endpoints',
  'local-ranges',
  'local-range-endpoints',
  'no-endpoint-ranges',
  'limited-ranges',
  'refused-range-connections',
  'refused-range-dials',
  'restricted-ranges',
  'range-hairpin',
])

const ofEndpoints: ReadonlySet<string> = new Set<ContainerName>([
  'endpoints',
  'local-endpoints',
  'nodeport-endpoints',
  'local-nodeport-endpoints',
])

/** `countsEndpoints`: each endpoint has a counter of its own, for each address of its Services. */
export function containersOf({ family, countsEndpoints = false }: ContainerSettings): Containers {
  const key = `${family} ${countsEndpoints}`
  let known = containersBySettings.get(key)
  if (known === undefined) containersBySettings.set(key, (known = makeContainers(family, countsEndpoints)))
  return known
}

/** Each sync asks for them, and there are four sets of them at most. */
const containersBySettings = new Map<string, Containers>()

function makeContainers(family: Family, countsEndpoints: boolean): Containers {
  const list: readonly SetDeclaration[] = containerList(family === 'ipv4' ? 'ipv4_addr' : 'ipv6_addr')
  const counted = (container: SetDeclaration): SetDeclaration =>
    countsEndpoints && ofEndpoints.has(container.name) ? { ...container, hasCounter: true } : container
  return Object.fromEntries(list.map((container) => [container.name, counted(container)])) as Containers
}

export function containersIn(
  settings: ContainerSettings,
  { hasRanges, hasTrackedExceptions }: TableShape,
): readonly SetDeclaration[] {
  const isThere = ({ name }: SetDeclaration) =>
    name === 'tracked-ips' ? hasTrackedExceptions : hasRanges || !rangeContainerNames.has(name)
  return Object.values(containersOf(settings)).filter(isThere)
}

function containerList(ip: FieldType) {
  const address = [ip, 'inet_proto', 'inet_service'] as const
  const nodePort = ['inet_proto', 'inet_service'] as const
  const target = [ip, 'inet_service'] as const
  return [
    {
      name: 'services',
      key: address,
      value: 'verdict',
      hasCounter: true,
      comment: 'Service addresses, and how their endpoint is picked; counts new connections',
    },
    {
      name: 'endpoints',
      key: [...address, 'index'],
      value: target,
      comment: 'endpoints of each Service address, numbered from 0',
    },
    {
      name: 'local-services',
      key: address,
      value: 'verdict',
      comment: 'addresses with external policy Local that have endpoints on this node',
    },
    {
      name: 'local-endpoints',
      key: [...address, 'index'],
      value: target,
      comment: 'endpoints on this node of the addresses in local-services',
    },
    {
      name: 'nodeports',
      key: nodePort,
      value: 'verdict',
      hasCounter: true,
      comment: 'node ports, and how their endpoint is picked; counts new connections',
    },
    {
      name: 'nodeport-endpoints',
      key: [...nodePort, 'index'],
      value: target,
      comment: 'endpoints of each node port, numbered from 0',
    },
    {
      name: 'local-nodeports',
      key: nodePort,
      value: 'verdict',
      comment: 'node ports with external policy Local that have endpoints on this node',
    },
    {
      name: 'local-nodeport-endpoints',
      key: [...nodePort, 'index'],
      value: target,
      comment: 'endpoints on this node of the ports in local-nodeports',
    },
    {
      name: 'no-endpoints',
      key: address,
      value: 'verdict',
      hasCounter: true,
      comment: 'Service addresses without a usable endpoint; counts who asked for them',
    },
    {
      name: 'no-endpoint-nodeports',
      key: nodePort,
      value: 'verdict',
      hasCounter: true,
      comment: 'node ports without a usable endpoint; counts who asked for them',
    },
    {
      name: 'limited-services',
      key: address,
      value: 'verdict',
      comment: 'addresses of Services with a limit, and how their endpoint is picked',
    },
    {
      name: 'limited-nodeports',
      key: nodePort,
      value: 'verdict',
      comment: 'node ports of Services with a limit, and how their endpoint is picked',
    },
    {
      name: 'refused-connections',
      key: address,
      hasCounter: true,
      comment: 'addresses with max-connections; counts who was refused',
    },
    {
      name: 'refused-nodeport-connections',
      key: nodePort,
      hasCounter: true,
      comment: 'node ports with max-connections; counts who was refused',
    },
    {
      name: 'refused-dials',
      key: address,
      hasCounter: true,
      comment: 'addresses with max-dials-per-second; counts who was refused',
    },
    {
      name: 'refused-nodeport-dials',
      key: nodePort,
      hasCounter: true,
      comment: 'node ports with max-dials-per-second; counts who was refused',
    },
    { name: 'cluster-ips', key: [ip], comment: 'cluster IPs in use' },
    { name: 'service-cidrs', key: [ip], isInterval: true, comment: 'ranges of cluster IPs' },
    { name: 'tracked-ips', key: [ip], comment: 'addresses of Services in ranges whose connections are not tracked' },
    { name: 'node-ips', key: [ip], comment: 'addresses of this node that node ports are open on' },
    {
      name: 'restricted',
      key: address,
      comment: 'load-balancer addresses that only the sources in source-ranges may use',
    },
    {
      name: 'source-ranges',
      key: [...address, ip],
      isInterval: true,
      comment: 'sources that may use the addresses in restricted',
    },
    {
      name: 'ranges',
      key: address,
      value: 'verdict',
      isInterval: true,
      hasCounter: true,
      comment: 'ranges of ports of Service addresses, and how their endpoint is picked; counts new connections',
    },
    {
      name: 'range-endpoints',
      key: [...address, 'index'],
      value: [ip],
      isInterval: true,
      comment: 'endpoints of each range, numbered from 0',
    },
    {
      name: 'local-ranges',
      key: address,
      value: 'verdict',
      isInterval: true,
      comment: 'ranges with external policy Local that have endpoints on this node',
    },
    {
      name: 'local-range-endpoints',
      key: [...address, 'index'],
      value: [ip],
      isInterval: true,
      comment: 'endpoints on this node of the ranges in local-ranges',
    },
    {
      name: 'no-endpoint-ranges',
      key: address,
      value: 'verdict',
      isInterval: true,
      hasCounter: true,
      comment: 'ranges without a usable endpoint; counts who asked for them',
    },
    {
      name: 'limited-ranges',
      key: address,
      value: 'verdict',
      isInterval: true,
      comment: 'where connections go that limits let through, by range',
    },
    {
      name: 'refused-range-connections',
      key: address,
      isInterval: true,
      hasCounter: true,
      comment: 'ranges with max-connections; counts who was refused',
    },
    {
      name: 'refused-range-dials',
      key: address,
      isInterval: true,
      hasCounter: true,
      comment: 'ranges with max-dials-per-second; counts who was refused',
    },
    {
      name: 'restricted-ranges',
      key: address,
      isInterval: true,
      comment: 'ranges of load-balancer addresses that only the sources in source-ranges may use',
    },
    {
      name: 'range-hairpin',
      key: [ip, ip, 'inet_proto'],
      comment: 'endpoints of ranges on this node, as source and destination',
    },
    {
      name: 'hairpin',
      key: [ip, ip, 'inet_proto', 'inet_service'],
      comment:
        'endpoints on this node, as source and destination: traffic of an endpoint to itself must be masqueraded',
    },
  ] as const satisfies readonly SetDeclaration[]
}
