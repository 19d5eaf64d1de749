/** What a change of this node's Node object means for the running proxy. */
import type { NodeRecord } from '../../api/records.ts'

export type NodeReaction =
  /** The rules are built on the old pod CIDRs: end with code 1 and be started again. */
  | { readonly kind: 'exit'; readonly message: string; readonly was: readonly string[]; readonly is: readonly string[] }
  /** Worth a line in the log, no more. */
  | { readonly kind: 'log'; readonly message: string; readonly was: readonly string[]; readonly is: readonly string[] }
  /** Pods of this node are others than was known. Nothing but the answer to "is this one of ours?" depends on it. */
  | { readonly kind: 'pods'; readonly was: readonly string[]; readonly is: readonly string[] }
  /** Topology hints must be looked at with the new zone. */
  | { readonly kind: 'topology'; readonly zone: string }

/**
 * Compares the Node with the one before. Start with the Node of `waitForNode`; after a deletion (`next` is undefined)
 * keep the previous Node for the next comparison and for health, so that a Node that comes back unchanged means
 * nothing.
 */
export function nodeReactions(
  previous: NodeRecord | undefined,
  next: NodeRecord | undefined,
  { isNodeCidrMode }: { readonly isNodeCidrMode: boolean },
): readonly NodeReaction[] {
  const { ips, podCIDRs, zone } = previous ?? unknownNode
  if (next === undefined)
    return [{ kind: 'log', message: 'the Node was deleted; its last state stays in use', was: ips, is: [] }]
  if (isNodeCidrMode && !isSameList(podCIDRs, next.podCIDRs))
    return [{ kind: 'exit', message: 'pod CIDRs of the node changed', was: podCIDRs, is: next.podCIDRs }]
  const reactions: NodeReaction[] = []
  if (!isSameList(ips, next.ips))
    reactions.push({ kind: 'log', message: 'IP addresses of the node changed', was: ips, is: next.ips })
  // A Node that is registered anew has none until somebody gives it some: those of before count until then.
  if (next.podCIDRs.length > 0 && !isSameList(podCIDRs, next.podCIDRs))
    reactions.push({ kind: 'pods', was: podCIDRs, is: next.podCIDRs })
  if (zone !== next.zone) reactions.push({ kind: 'topology', zone: next.zone })
  return reactions
}

const unknownNode = { ips: [], podCIDRs: [], zone: '' } as const

/** The order matters: the first address or CIDR of a family is the one in use. */
function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
