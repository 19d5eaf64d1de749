/** What this node is called and which addresses it has, once its Node object says so. */
import { hostname } from 'node:os'
import type { NodeRecord, ObjectKind } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { waitForNode } from '../../core/node/node-wait.ts'
import { CommandError } from '../program.ts'

export function nodeNameOf(hostnameOverride: string): string {
  const name = (hostnameOverride || hostname()).trim().toLowerCase()
  if (name === '')
    throw new CommandError('this machine has no host name: give the Node its name with --hostname-override')
  return name
}

export interface NodeAtStart {
  readonly catalog: Catalog
  readonly nodeName: string
  /** Given on the command line, instead of those of the Node. */
  readonly nodeAddresses: readonly string[]
  /** Objects in files need not include a Node; one in a cluster appears when the kubelet registers it. */
  readonly isFromFiles: boolean
  readonly isNodeCidrMode: boolean
  readonly clock: Clock
  readonly log: Logger
}

export async function findNode(options: NodeAtStart, signal: AbortSignal): Promise<NodeRecord | undefined> {
  const { catalog, nodeName, nodeAddresses, isFromFiles } = options
  await untilListed(catalog, 'Node', signal)
  const readNode = (): NodeRecord | undefined => {
    const node = catalog.nodes.get(objectKey({ name: nodeName })) ?? (isFromFiles ? bareNode(nodeName) : undefined)
    return node === undefined || nodeAddresses.length === 0 ? node : { ...node, ips: nodeAddresses }
  }
  return isFromFiles ? readNode() : waitForNode({ ...options, readNode }, signal)
}

function bareNode(name: string): NodeRecord {
  return {
    kind: 'Node',
    name,
    resourceVersion: '',
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
