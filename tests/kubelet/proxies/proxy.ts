import type { ControlPlane } from '../cluster/control-plane.ts'
import type { ClusterNode } from '../cluster/node.ts'
import type { Row } from '../conformance-table.ts'

/** What serves the Services of a cluster: one of the programs that the table compares. */
export interface Proxy extends Row {
  /** It runs in pods from our own image. */
  readonly needsFairleadImage: boolean
  /** Resolves when it has synced on every node. Each node has a cgroup by its name below that of the cluster. */
  start(nodes: readonly ClusterNode[], controlPlane: ControlPlane, cgroup: string): Promise<void>
}
