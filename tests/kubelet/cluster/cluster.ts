/** A whole cluster. It needs no end: it is gone with the namespaces of the process that made it. */
import { buildGoProgram } from '../programs.ts'
import { nodeAddresses } from './addresses.ts'
import type { NodeAddresses } from './addresses.ts'
import { clusterDns } from './cluster-dns.ts'
import { startControlPlane } from './control-plane.ts'
import type { ControlPlane } from './control-plane.ts'
import { makeHub } from './hub.ts'
import { ClusterNode } from './node.ts'
import { saveSystemLogs } from './system-logs.ts'
import type { Proxy } from '../proxies/proxy.ts'

export interface ClusterOptions {
  readonly nodeCount: number
  readonly images: readonly string[]
  readonly cgroup: string
  readonly logFolder: string
  readonly proxy: Proxy
}

export interface Cluster {
  readonly controlPlane: ControlPlane
  readonly nodes: readonly ClusterNode[]
}

/** Resolves when every node is ready and names can be resolved: through the proxy. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const addresses = nodeAddresses(options.nodeCount)
  await makeHub(addresses)
  const controlPlane = await startControlPlane(options.logFolder)
  const { kubectl, kubeconfig, caFile } = controlPlane
  await kubectl.apply(...addresses.map(nodeObject))
  const programs = {
    containerd: await buildGoProgram('containerd'),
    'containerd-shim-runc-v2': await buildGoProgram('containerd-shim-runc-v2'),
    ctr: await buildGoProgram('ctr'),
    kubelet: await buildGoProgram('kubelet'),
  }
  const nodes = await Promise.all(
    addresses.map((each) => ClusterNode.start({ ...options, addresses: each, programs, kubeconfig, caFile })),
  )
  try {
    await options.proxy.start(nodes, controlPlane, options.cgroup)
    await kubectl('wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=180s')
    await kubectl.apply(...clusterDns)
    await kubectl('rollout', 'status', 'deployment/coredns', '--namespace=kube-system', '--timeout=180s')
  } catch (error) {
    await saveSystemLogs(kubectl, options.logFolder)
    throw error
  }
  return { controlPlane, nodes }
}

function nodeObject({ name, zone, podCidrs }: NodeAddresses): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone } },
    spec: { podCIDR: podCidrs[0], podCIDRs: podCidrs },
  }
}
