/** What the node's kernel holds. */
import type { ListedServer } from '../../../../src/dataplane/ipvs/ipvs.ts'
import { parseList } from '../../../../src/dataplane/ipvs/ipvsadm-text.ts'
import type { Cluster } from '../../../packet/testing/cluster.ts'

export function virtualServers({ node }: Cluster): readonly ListedServer[] {
  return parseList(node.run('ipvsadm', ['-L', '-n', '--exact']))
}

/** The active connections of each real server of a virtual server, by its address. */
export function activeConnections(cluster: Cluster, ip: string, port: number): ReadonlyMap<string, number> {
  const server = virtualServers(cluster).find((one) => one.ip === ip && one.port === port)
  return new Map(server?.realServers.map(({ ip: real, activeConnections: active }) => [real, active]))
}
