/**
 * The network between the nodes: a bridge in the network namespace that this process was started in. Nothing of it is
 * to be seen outside, and it is gone with the process.
 */
import { mkdir } from 'node:fs/promises'
import { run } from '../run.ts'
import { hub } from './addresses.ts'
import type { NodeAddresses } from './addresses.ts'

/** A tmpfs of this mount namespace, at a place that every machine has. */
export const stateFolder = '/mnt'

/** Only for a process that has mount and network namespaces of its own. */
export async function makeHub(nodes: readonly NodeAddresses[]): Promise<void> {
  await run('mount', ['-t', 'tmpfs', 'fairlead-e2e', stateFolder])
  // Where "ip netns" keeps its names.
  await run('mount', ['-t', 'tmpfs', 'fairlead-e2e', '/run'])
  await ip('link set lo up', 'link add hub type bridge', ...hubAddresses, 'link set hub up')
  for (const node of nodes) await connect(node)
  for (const node of nodes) {
    await ip(...routesTo(node))
    await inNode(node, ...nodes.filter((other) => other !== node).flatMap(routesTo))
  }
  await mkdir(`${stateFolder}/bin`)
}

// Without "nodad" an IPv6 address cannot be used for a second or two.
const hubAddresses = [`addr add ${hub.ipv4}/24 dev hub`, `addr add ${hub.ipv6}/64 dev hub nodad`]

export function networkNamespace(node: NodeAddresses): string {
  return `/run/netns/${node.name}`
}

async function connect(node: NodeAddresses): Promise<void> {
  await run('ip', ['netns', 'add', node.name])
  await ip(
    `link add ${node.name} type veth peer name eth0 netns ${node.name}`,
    `link set ${node.name} master hub`,
    `link set ${node.name} up`,
  )
  await inNode(
    node,
    'link set lo up',
    `addr add ${node.ipv4}/24 dev eth0`,
    `addr add ${node.ipv6}/64 dev eth0 nodad`,
    'link set eth0 up',
    `route add default via ${hub.ipv4}`,
    `-6 route add default via ${hub.ipv6}`,
  )
  const settings = ['ipv4.ip_forward=1', 'ipv6.conf.all.forwarding=1'].map((setting) => `net.${setting}`)
  await run('ip', ['netns', 'exec', node.name, 'sysctl', '-qw', ...settings])
}

/** Static routes instead of an overlay: the nodes are on one wire. */
function routesTo(node: NodeAddresses): readonly string[] {
  const [ipv4, ipv6] = node.podCidrs
  return [`route add ${ipv4} via ${node.ipv4}`, `-6 route add ${ipv6} via ${node.ipv6}`]
}

async function ip(...lines: readonly string[]): Promise<void> {
  for (const line of lines) await run('ip', line.split(' '))
}

async function inNode(node: NodeAddresses, ...lines: readonly string[]): Promise<void> {
  for (const line of lines) await run('ip', ['-netns', node.name, ...line.split(' ')])
}
