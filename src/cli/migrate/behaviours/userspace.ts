/** Fairlead's userspace mode in the place of a kernel mode, and of the mode that kube-proxy had until 1.25. */
import { behaviours } from '../difference.ts'

const toUserspace = behaviours({ from: ['iptables', 'ipvs', 'nftables'], to: ['userspace'] }, [
  {
    name: 'relayed-connections',
    attention: 'decide',
    kubeProxy: 'The kernel moves the packets: connections go on while kube-proxy is away.',
    fairlead:
      'A process relays them: when Fairlead ends, open connections are cut and Services do not answer until it runs again.',
    action: 'For large or busy clusters use a kernel mode.',
    rollback:
      'Start kube-proxy, wait until it has synced, then stop Fairlead: only relayed connections that are still open are cut.',
    shownBy: 'tests/packet/takeover.test.ts',
  },
  {
    name: 'client-address',
    attention: 'decide',
    kubeProxy: "Pods see the client's address wherever the kernel can keep it.",
    fairlead:
      'So they do for TCP with the native engine. They see the node with UDP, behind the same bridge, on the host network of this node, and with the Node.js engine.',
    action:
      'Check UDP servers that log or filter by client address, and NetworkPolicies. docs/userspace.md has all cases; an annotation of the Service changes them.',
    shownBy: 'tests/packet/transparent.test.ts',
  },
  {
    name: 'no-sctp',
    attention: 'decide',
    kubeProxy: 'SCTP Service ports work.',
    fairlead: 'They are reported and skipped.',
    action: 'kubectl get services -A -o yaml | grep "protocol: SCTP" shows whether you have any.',
    shownBy: 'src/backends/userspace/userspace-backend.test.ts',
  },
  {
    name: 'input-chain',
    attention: 'decide',
    kubeProxy: 'Service traffic is forwarded: it does not pass the INPUT chain of the node.',
    fairlead: 'Connections end at the node, so they pass its INPUT chain.',
    action: 'If the policy of INPUT is DROP, allow pods to reach the node.',
    shownBy: 'src/backends/userspace/README.md',
  },
  {
    name: 'relay-limits',
    kubeProxy: 'Connections are limited by conntrack only.',
    fairlead:
      'Each takes two file descriptors, each Service port one port and one descriptor: with thousands of Services use a kernel mode.',
    action: 'Raise the open-files limit where the log says "clients are turned away".',
    shownBy: 'docs/userspace.md',
  },
  {
    name: 'external-ips-from-the-node',
    kubeProxy: 'The node and its pods reach external IPs of Services through kube-proxy.',
    fairlead:
      'Traffic of the node, or of a pod behind a bridge, to an external IP that is not an address of the node leaves the node.',
    shownBy: 'tests/packet/flows.userspace.test.ts',
  },
  {
    name: 'relay-balancing',
    from: ['iptables', 'nftables'],
    kubeProxy: 'Each connection goes to a random endpoint.',
    fairlead: 'Endpoints take turns. The annotation fairlead.dev/balancing chooses otherwise.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'udp-clients',
    kubeProxy: 'A UDP client keeps its endpoint as long as conntrack remembers it (30 s and more).',
    fairlead: 'One that sends nothing for 250 ms is forgotten, and may get another endpoint.',
    shownBy: 'src/dataplane/relay/contract/udp.contract.ts',
  },
])

const oldUserspace = behaviours({ from: ['userspace'], to: ['userspace'] }, [
  {
    name: 'old-userspace-hanging-endpoint',
    kubeProxy: 'One hanging endpoint stalls all new clients of a Service.',
    fairlead: 'Each connection dials on its own.',
    shownBy: 'src/dataplane/relay/contract/fault.contract.ts',
  },
  {
    name: 'old-userspace-descriptors',
    kubeProxy: 'Out of descriptors, the process ends.',
    fairlead: 'New connections are reset, existing ones go on.',
    shownBy: 'docs/userspace.md',
  },
  {
    name: 'old-userspace-half-open',
    kubeProxy: 'Either end closes both directions.',
    fairlead: 'Half-open connections work.',
    shownBy: 'src/dataplane/relay/contract/tcp.contract.ts',
  },
  {
    name: 'old-userspace-affinity',
    kubeProxy: 'The affinity timeout of a Service is usually ignored.',
    fairlead: 'It is honoured, also when it changes.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'old-userspace-datagrams',
    kubeProxy: 'Datagrams are cut at 4,096 bytes.',
    fairlead: 'They may have any size.',
    shownBy: 'src/dataplane/relay/contract/udp.contract.ts',
  },
  {
    name: 'old-userspace-udp-endpoint',
    kubeProxy: 'UDP clients stay with a removed endpoint.',
    fairlead: 'They move at once.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'old-userspace-policies',
    attention: 'decide',
    kubeProxy: 'Source ranges, nodePortAddresses and traffic policies are ignored.',
    fairlead: 'They are respected.',
    action: 'Look at Services that have them: some clients may be refused now.',
    shownBy: 'tests/packet/flows.userspace.test.ts',
  },
  {
    name: 'old-userspace-families',
    kubeProxy: 'It has one IP family.',
    fairlead: 'It has both.',
    shownBy: 'tests/packet/flows.userspace.test.ts',
  },
  {
    name: 'old-userspace-no-endpoints',
    kubeProxy: 'Without endpoints it accepts, then closes.',
    fairlead: 'It rejects by rule.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'old-userspace-proxy-ports',
    kubeProxy: 'Proxy ports are open to everybody.',
    fairlead: 'They can be reached through portals only.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'old-userspace-routed-pods',
    kubeProxy: 'Pods on routed networks reach no Service, because REDIRECT drops their packets.',
    fairlead: "Portals use the node's address.",
    shownBy: 'tests/packet/flows.userspace.test.ts',
  },
  {
    name: 'old-userspace-syncs',
    kubeProxy: 'Each sync runs iptables for every rule.',
    fairlead: 'It writes only what differs.',
    shownBy: 'tests/golden-userspace.test.ts',
  },
  {
    name: 'old-userspace-damage',
    kubeProxy: 'Rules are added, never removed or put in order.',
    fairlead: 'Damage is noticed and repaired.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'old-userspace-stop',
    kubeProxy: 'Rules stay after it stops, and lead to whichever program gets the port next.',
    fairlead: 'They are removed first.',
    shownBy: 'tests/packet/userspace.test.ts',
  },
  {
    name: 'old-userspace-udp-flows',
    kubeProxy: 'UDP flows of an earlier process stay lost.',
    fairlead: "They are deleted from the kernel's table.",
    shownBy: 'tests/packet/userspace.test.ts',
  },
])

const fromUserspace = behaviours({ from: ['userspace'], to: ['iptables', 'ipvs', 'nftables', 'ebpf'] }, [
  {
    name: 'old-userspace-to-the-kernel',
    attention: 'decide',
    kubeProxy: 'kube-proxy had this mode until 1.25: it relays connections, and pods see the node as the client.',
    fairlead:
      "The kernel moves the packets, and pods see the client's address where the kernel keeps it. Source ranges, nodePortAddresses and traffic policies hold.",
    action: 'Check servers that filter by client address, and Services with source ranges or policy Local.',
    rollback: 'kube-proxy from 1.26 on has no such mode: fairlead --proxy-mode=userspace takes its place.',
    shownBy: 'tests/packet/takeover.test.ts',
  },
])

export const aboutUserspace = { toUserspace, oldUserspace, fromUserspace }
