/** Waits at start-up until this node's Node object says what the proxy must know about it. */
import type { NodeRecord } from '../../api/records.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'

class NodeWaitError extends Error {
  override readonly name = 'NodeWaitError'
  readonly reason: 'node-missing' | 'pod-cidr-missing'

  constructor(reason: NodeWaitError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

export interface NodeWait {
  readonly nodeName: string
  /** The Node as the source knows it at this moment. */
  readNode(this: void): NodeRecord | undefined
  /** detectLocalMode NodeCIDR: nothing can be programmed without the Node's pod CIDRs. */
  readonly isNodeCidrMode: boolean
  readonly clock: Clock
  readonly log: Logger
}

const pollMs = 1000
const longestIpWaitMs = 30_000
const longestPodCidrWaitMs = 300_000

/**
 * Resolves with the Node, or with undefined when there is none but the proxy can do without. Rejects with a
 * NodeWaitError when it cannot, and with the signal's reason when aborted.
 */
export async function waitForNode(wait: NodeWait, signal: AbortSignal): Promise<NodeRecord | undefined> {
  const hasIp = (node: NodeRecord | undefined) => node !== undefined && node.ips.length > 0
  if (!(await pollNode(wait, hasIp, longestIpWaitMs, signal)))
    wait.log.error('the node has no IP address; using loopback addresses', {
      node: wait.nodeName,
      problem: wait.readNode() === undefined ? 'there is no such Node' : 'status.addresses has no usable IP',
    })
  if (wait.isNodeCidrMode) {
    const hasPodCidr = (node: NodeRecord | undefined) => node !== undefined && node.podCIDRs.length > 0
    if (!(await pollNode(wait, hasPodCidr, longestPodCidrWaitMs, signal))) throw podCidrTimeout(wait)
  }
  return wait.readNode()
}

async function pollNode(
  { readNode, clock }: NodeWait,
  isEnough: (node: NodeRecord | undefined) => boolean,
  longestMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < longestMs; waitedMs += pollMs) {
    if (isEnough(readNode())) return true
    await clock.sleep(pollMs, signal)
  }
  return isEnough(readNode())
}

function podCidrTimeout({ nodeName, readNode }: NodeWait): NodeWaitError {
  if (readNode() === undefined)
    return new NodeWaitError(
      'node-missing',
      `timeout waiting for node "${nodeName}" to exist: register it, or set --hostname-override to the Node's name`,
    )
  return new NodeWaitError(
    'pod-cidr-missing',
    `timeout waiting for PodCIDR allocation on node "${nodeName}": let the controller manager allocate node CIDRs, or use another detectLocalMode`,
  )
}
