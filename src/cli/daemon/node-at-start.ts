/** What this node is called and which addresses it has, once its Node object says so. */
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { NodeRecord, ObjectKind } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import type { Catalog } from '../../core/catalog.ts'
import { nodeIps } from '../../core/node/node-ips.ts'
import type { NodeIps } from '../../core/node/node-ips.ts'
import { waitForNode } from '../../core/node/node-wait.ts'
import { isLoopback } from '../../net/ip.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'
import type { ClusterParts, Daemon } from './daemon.ts'

export function nodeNameOf(hostnameOverride: string, host: Pick<Host, 'hostname'>): string {
  const name = (hostnameOverride || host.hostname()).trim().toLowerCase()
  if (name === '')
    throw new CommandError('this machine has no host name: give the Node its name with --hostname-override')
  return name
}

export interface ThisNode {
  readonly name: string
  /** Its addresses may be those of the command line. Absent when the Node did not appear in time. */
  readonly record: NodeRecord | undefined
  readonly addresses: NodeIps
}

type NodeDaemon = Pick<Daemon, 'config' | 'objects' | 'api' | 'nodeAddresses' | 'host' | 'log'>
type NodeCluster = Pick<ClusterParts, 'nodeName' | 'catalog'>

export async function findNode(daemon: NodeDaemon, cluster: NodeCluster, signal: AbortSignal): Promise<ThisNode> {
  const { config, log } = daemon
  const name = cluster.nodeName
  await untilListed(cluster.catalog, 'Node', signal)
  const record = await findRecord(daemon, cluster, signal)
  const addresses = nodeIps({ ips: record?.ips ?? [], bindAddress: config.bindAddress })
  if (isLoopback(addresses.ips[addresses.primaryFamily]))
    log.info('the node has no address of its own; using a loopback address', { node: name })
  return { name, record, addresses }
}

async function findRecord(
  { config, objects, api, nodeAddresses, host: { clock }, log }: NodeDaemon,
  { nodeName, catalog }: NodeCluster,
  signal: AbortSignal,
): Promise<NodeRecord | undefined> {
  // Other sources need not have a Node; in a cluster it appears when the kubelet registers it.
  const isFromCluster = objects.length === 0 && api === undefined
  const readNode = (): NodeRecord | undefined => {
    const node = catalog.nodes.get(objectKey({ name: nodeName })) ?? (isFromCluster ? undefined : bareNode(nodeName))
    return node === undefined || nodeAddresses.length === 0 ? node : { ...node, ips: nodeAddresses }
  }
  if (!isFromCluster) return readNode()
  return waitForNode({ nodeName, isNodeCidrMode: isNodeCidrMode(config), readNode, clock, log }, signal)
}

/** The pod CIDRs of the Node then decide which traffic is local. */
export function isNodeCidrMode({ detectLocalMode }: StartConfig): boolean {
  return detectLocalMode === 'NodeCIDR'
}

function bareNode(name: string): NodeRecord {
  return {
    kind: 'Node',
    name,
    ips: [],
    podCIDRs: [],
    zone: '',
    isBeingDeleted: false,
    taintKeys: [],
  }
}

function untilListed(catalog: Catalog, kind: ObjectKind, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    if (catalog.hasListed(kind)) return resolve()
    const end = () => {
      unsubscribe()
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = () => {
      end()
      reject(signal.reason as Error)
    }
    const unsubscribe = catalog.subscribe({
      changed() {},
      listed(listed) {
        if (listed !== kind) return
        end()
        resolve()
      },
    })
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
