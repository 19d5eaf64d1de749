import { parsePortList, parsePortRange } from '../../../backends/userspace/free-ports.ts'
import { parsePortRange as parseProxyPortRange } from '../../../config/port-range.ts'
import type { ClusterFacts } from '../evidence/cluster.ts'
import { check } from '../check.ts'
import type { Listener } from '../evidence/listeners.ts'
import { withChildren } from '../evidence/processes.ts'
import type { ProcessFacts } from '../evidence/processes.ts'
import { shown } from './two-proxies.ts'

export const nodePorts = check({
  name: 'node-ports',
  title: 'node ports and programs of this node',
  needs: ['cluster', 'listeners', 'processes', 'settings'],
  concerns: (setup) => !setup.isBeforeStart || setup.objects.length > 0,
  finds: {
    'node-port-listener': {
      severity: 'warning',
      meaning: 'A program of this node listens on a node port: clients of the port reach the Service, not the program.',
      fix: 'Move the program to a port outside the range of node ports, or give the Service another node port.',
    },
    'health-check-port-taken': {
      severity: 'error',
      meaning: 'A program listens on the healthCheckNodePort of a Service: load balancers ask it instead of the proxy.',
      fix: 'Stop the program, or give the Service another healthCheckNodePort.',
    },
    'node-port-ephemeral': {
      severity: 'warning',
      meaning: 'The kernel may give a node port to any outgoing connection of this node, which then gets no answers.',
      fix: 'Reserve the ports: sysctl -w net.ipv4.ip_local_reserved_ports=30000-32767.',
    },
    'proxy-ports-taken': {
      severity: 'warning',
      meaning: 'Other programs use most of the ports that --proxy-port-range leaves to the userspace mode.',
      fix: 'Choose another range, or keep it free: sysctl -w net.ipv4.ip_local_reserved_ports=RANGE.',
    },
  },
  *run({ config }, { cluster, listeners, processes, settings }, find) {
    const others = listenersOfOthers(listeners, processes)
    const ports = usedPorts(cluster)
    for (const { port, protocol, service, isHealthCheck } of ports) {
      const listener = others.find((one) => one.port === port && one.protocol === protocol && isReachable(one))
      if (listener === undefined) continue
      const evidence = `${listener.ip}:${listener.port}/${listener.protocol}, ${ownerOf(listener)}`
      if (isHealthCheck)
        yield find('health-check-port-taken', {
          what: `The health-check port ${port} of ${service} is taken.`,
          evidence,
        })
      else if (config.mode !== 'userspace' || listener.owner !== undefined)
        yield find('node-port-listener', { what: `A program listens on node port ${port} of ${service}.`, evidence })
    }
    const range = parsePortRange(settings.value('net/ipv4/ip_local_port_range') ?? '')
    const reserved = parsePortList(settings.value('net/ipv4/ip_local_reserved_ports') ?? '')
    const unsafe = ports.filter(
      ({ port }) =>
        range !== undefined &&
        port >= range.first &&
        port <= range.last &&
        !reserved.some(({ first, last }) => port >= first && port <= last),
    )
    if (unsafe.length > 0 && range !== undefined)
      yield find('node-port-ephemeral', {
        what: `${unsafe.length} node ports are in the range of outgoing connections.`,
        evidence: `${[...new Set(unsafe.map(({ port }) => port))].slice(0, 10).join(', ')}; net.ipv4.ip_local_port_range = ${range.first} ${range.last}`,
      })
    const proxyRange = config.mode === 'userspace' ? parseProxyPortRange(config.portRange) : undefined
    if (proxyRange?.ok === true && proxyRange.range !== undefined) {
      const { first, last } = proxyRange.range
      const taken = new Set(others.map(({ port }) => port).filter((port) => port >= first && port <= last))
      if (taken.size * 2 > last - first + 1)
        yield find('proxy-ports-taken', {
          what: 'Most of the proxy ports are in use.',
          evidence: `${taken.size} of ${last - first + 1} ports in ${first}-${last}`,
        })
    }
  },
})

/** Loopback is its own: node ports are on addresses of the node. */
function isReachable({ ip }: Listener): boolean {
  return !ip.startsWith('127.') && ip !== '::1'
}

export function listenersOfOthers(
  listeners: readonly Listener[],
  { all, fairleads }: ProcessFacts,
): readonly Listener[] {
  const ours = withChildren(new Set(fairleads.map(({ pid }) => pid)), all)
  return listeners.filter(({ owner }) => owner === undefined || !ours.has(owner.pid))
}

function ownerOf({ owner, inode }: Listener): string {
  return owner === undefined ? `a process that cannot be seen from here (socket ${inode})` : shown(owner)
}

interface UsedPort {
  readonly port: number
  readonly protocol: string
  readonly service: string
  readonly isHealthCheck: boolean
}

function usedPorts({ views }: ClusterFacts): readonly UsedPort[] {
  const found = new Map<string, UsedPort>()
  for (const { routesByKey } of views)
    for (const { namespace, name, protocol, entrances, healthCheckNodePort } of routesByKey.values()) {
      const service = `${namespace}/${name}`
      for (const { kind, port } of entrances)
        if (kind === 'node-port') found.set(`${port}/${protocol}`, { port, protocol, service, isHealthCheck: false })
      if (healthCheckNodePort !== undefined)
        found.set(`${healthCheckNodePort}/health`, {
          port: healthCheckNodePort,
          protocol: 'TCP',
          service,
          isHealthCheck: true,
        })
    }
  return [...found.values()]
}
