/** What the node's kernel holds. */
import type { ListedServer } from '../../../../src/dataplane/ipvs/ipvs.ts'
import { parseList } from '../../../../src/dataplane/ipvs/ipvsadm-text.ts'
import { plans } from '../../../packet/testing/address-plan.ts'
import type { Cluster } from '../../../packet/testing/cluster.ts'

export function virtualServers({ node }: Cluster): readonly ListedServer[] {
  return parseList(node.run('ipvsadm', ['-L', '-n', '--exact']))
}

/** The active connections of each real server of a virtual server, by its address. */
export function activeConnections(cluster: Cluster, ip: string, port: number): ReadonlyMap<string, number> {
  const server = virtualServers(cluster).find((one) => one.ip === ip && one.port === port)
  return new Map(server?.realServers.map(({ ip: real, activeConnections: active }) => [real, active]))
}

/** The weight of each real server of a virtual server for IPv4, by the name of the pod. */
export function weightsOf(cluster: Cluster, ip: string, port: number): Readonly<Record<string, number>> {
  const server = virtualServers(cluster).find((one) => one.ip === ip && one.port === port)
  const names = Object.entries(plans.ipv4.hosts)
  return Object.fromEntries(
    (server?.realServers ?? []).map(({ ip: real, weight }) => [
      names.find(([, address]) => address === real)?.[0] ?? real,
      weight,
    ]),
  )
}

/** How many connections each virtual server has had, by its address. One that is made anew begins at zero. */
export function connectionsSoFar({ node }: Cluster): ReadonlyMap<string, number> {
  const stats = node.run('ipvsadm', ['-L', '-n', '--stats', '--exact'])
  return new Map(
    [...stats.matchAll(/^((?:TCP|UDP) +\S+) +(\d+)/gm)].map(([, server = '', count]) => [server, Number(count)]),
  )
}
