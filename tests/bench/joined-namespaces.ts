/** A host that reaches everything through a node. */
import type { Namespace } from '../packet/testing/namespace.ts'

/** Links have no addresses of their own but these: routes of IPv4 go through them too. */
const nodeEnd = 'fe80::1'
/** Where the node's routes to a host lead. */
export const hostEnd = 'fe80::2'

/** With a link that is called `device` at the node. */
export function joinNamespaces(host: Namespace, node: Namespace, device: string): void {
  host.ip(
    `link add eth0 type veth peer name ${device} netns ${node.path}`,
    `address add ${hostEnd}/64 dev eth0 nodad`,
    'link set eth0 up',
  )
  node.ip(`address add ${nodeEnd}/64 dev ${device} nodad`, `link set ${device} up`)
  host.ip(`route add 0.0.0.0/0 via inet6 ${nodeEnd} dev eth0`)
}
