/** The nodes of this cluster share a kernel, and each has hooks at its own sockets: none may serve those of another. */
import { kubernetesServiceAddress } from '../cluster/addresses.ts'
import type { Kubectl } from '../cluster/kubectl.ts'
import type { ClusterNode } from '../cluster/node.ts'

/** More than what else a node connects to meanwhile. */
const connections = 50

/** Rejects with what was counted where it should not have been. */
export async function assertHooksOfEachNode(nodes: readonly ClusterNode[]): Promise<void> {
  for (const node of nodes) {
    const before = await Promise.all(nodes.map(translated))
    await node.run('bash', ['-c', connectOften])
    const after = await Promise.all(nodes.map(translated))
    for (const [index, other] of nodes.entries()) {
      const counted = (after[index] ?? 0) - (before[index] ?? 0)
      if (other === node ? counted < connections : counted >= connections)
        throw new Error(
          `${node.addresses.name} made ${connections} connections, and the hooks of ${other.addresses.name} counted ${counted}`,
        )
    }
  }
}

/** The nodes have no pods yet, and have them served all the same as soon as they come. Rejects with what a node says. */
export async function assertConnectedUdpAtSockets(kubectl: Kubectl): Promise<void> {
  const here = '--namespace=kube-system'
  const pods = await kubectl('get', 'pods', here, '--selector=app.kubernetes.io/name=fairlead', '--output=name')
  for (const pod of pods.trim().split('\n')) {
    const log = await kubectl('logs', pod, here, '--container=fairlead')
    if (!log.includes('the sockets of this node are connected to endpoints'))
      throw new Error(`${pod} does not say that it serves sockets`)
    const left = /^.*connected UDP of pods is left to nftables.*$/m.exec(log)?.[0]
    if (left !== undefined) throw new Error(`${pod} leaves more to nftables than it should: ${left}`)
  }
}

const connectOften = `for n in $(seq ${connections}); do exec 3<>/dev/tcp/${kubernetesServiceAddress}/443 && exec 3>&-; done`

/** What the hooks of a node have connected to endpoints so far. */
async function translated(node: ClusterNode): Promise<number> {
  const metrics = await node.run('curl', ['--silent', '--fail', 'http://127.0.0.1:10249/metrics'])
  const line = /^fairlead_socket_choices_total\{result="translated",ip_family="IPv4"\} (\d+)$/m.exec(metrics)
  if (line === null) throw new Error(`${node.addresses.name} does not count what its hooks do`)
  return Number(line[1])
}
