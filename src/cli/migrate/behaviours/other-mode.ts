/** What a change of the mode brings, also within kube-proxy: nobody sees it in the rules until it hurts. */
import { behaviours, linuxModes } from '../difference.ts'
import type { Facts } from '../difference.ts'

const hasNoNodePortAddresses = ({ value }: Facts) => {
  const addresses = value('nodePortAddresses')
  return addresses === undefined || (Array.isArray(addresses) && addresses.length === 0)
}
const hasLocalhostNodePorts = ({ value }: Facts) => value('iptables.localhostNodePorts') !== false

const nodePorts = behaviours({ from: ['iptables', 'ipvs', 'userspace'], to: ['nftables', 'ebpf'] }, [
  {
    name: 'node-ports-on-primary-addresses',
    when: hasNoNodePortAddresses,
    attention: 'decide',
    kubeProxy: 'nodePortAddresses is not set: node ports answer on all addresses of the node.',
    fairlead:
      "In nftables and ebpf mode they answer on the node's primary addresses only (as in kube-proxy's nftables mode).",
    action:
      'To keep all addresses: nodePortAddresses: ["0.0.0.0/0", "::/0"]. Load balancers that use the primary address need nothing.',
    rollback: 'Nothing to undo. If you set nodePortAddresses, kube-proxy may have it too: it means the same there.',
    shownBy: 'src/config/daemon/complete-options.test.ts',
  },
  {
    name: 'node-ports-on-all-addresses',
    from: ['nftables'],
    to: ['iptables', 'ipvs', 'userspace'],
    when: hasNoNodePortAddresses,
    attention: 'decide',
    kubeProxy: 'nodePortAddresses is not set: in nftables mode node ports answer on primary addresses only.',
    fairlead: 'In this mode they answer on all addresses of the node.',
    action: 'To keep it: nodePortAddresses: [primary].',
    rollback: 'Nothing to undo. kube-proxy knows "primary" too.',
    shownBy: 'src/config/daemon/complete-options.test.ts',
  },
  {
    name: 'no-node-ports-on-localhost',
    from: ['iptables'],
    to: ['nftables', 'ipvs'],
    when: hasLocalhostNodePorts,
    attention: 'decide',
    kubeProxy: 'Node ports answer on 127.0.0.1.',
    fairlead: 'In this mode they do not, unless localhostNodePorts of FairleadConfiguration is true.',
    action:
      "Look for what uses localhost:NODEPORT (often a registry mirror or a script on the node) and give it the node's address, or set localhostNodePorts: true (--localhost-nodeports).",
    rollback: 'Nothing to undo.',
    shownBy: 'tests/packet/flows.nftables.test.ts',
  },
  {
    name: 'node-ports-on-localhost',
    from: ['nftables', 'ipvs'],
    to: ['iptables'],
    when: hasLocalhostNodePorts,
    attention: 'decide',
    kubeProxy: 'Node ports do not answer on 127.0.0.1.',
    fairlead: 'In iptables mode they do, and route_localnet is set to 1.',
    action: 'To keep them closed: iptables.localhostNodePorts: false.',
    rollback: 'route_localnet stays at 1: sysctl -w net.ipv4.conf.all.route_localnet=0, or reboot.',
    shownBy: 'tests/packet/flows.iptables-nft.test.ts',
  },
  {
    name: 'node-ports-on-localhost-by-relay',
    from: ['nftables', 'ipvs'],
    to: ['userspace'],
    kubeProxy: 'Node ports do not answer on 127.0.0.1.',
    fairlead: 'In userspace mode they do, also on ::1.',
    shownBy: 'tests/packet/flows.userspace.test.ts',
  },
])

const firewalls = behaviours({ from: ['iptables', 'ipvs'], to: ['nftables', 'ebpf'] }, [
  {
    name: 'no-holes-in-the-firewall',
    attention: 'decide',
    kubeProxy:
      'Rules accept forwarded Service traffic, node ports and health-check ports, past a firewall of the node.',
    fairlead:
      "In nftables and ebpf mode there are none (as in kube-proxy's nftables mode): the firewall of the node decides.",
    action:
      'If the node has a firewall that drops in INPUT or FORWARD, allow pods, node ports and health-check ports there.',
    shownBy: 'tests/golden-nftables.test.ts',
  },
  {
    name: 'invalid-packets',
    from: ['iptables'],
    kubeProxy: 'Packets that conntrack calls invalid are dropped, unless conntrack.tcpBeLiberal is set.',
    fairlead: 'In nftables and ebpf mode there is no such rule.',
    action: 'If long transfers are reset, set conntrack.tcpBeLiberal: true.',
    rollback:
      'nf_conntrack_tcp_be_liberal stays as it is, if you set it: sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=0.',
    shownBy: 'tests/golden-nftables.test.ts',
  },
])

const leftovers = behaviours({ from: ['iptables', 'ipvs', 'userspace'], to: ['nftables', 'ebpf'] }, [
  {
    name: 'rules-in-iptables-legacy',
    attention: 'decide',
    kubeProxy: 'On a node that uses iptables-legacy, its rules are in the legacy tables.',
    fairlead:
      'To remove them it needs CAP_NET_RAW, which its pods do not have in nftables and ebpf mode. Rules that stay lead to pods of long ago.',
    action:
      'iptables-legacy-save | grep KUBE-SVC on a node shows whether it has any. If so, install with --set extraCapabilities={NET_RAW}.',
    shownBy: 'deploy/helm/fairlead/values.yaml',
  },
])

const fromIpvs = behaviours({ from: ['ipvs'], to: ['iptables', 'nftables', 'ebpf', 'userspace'] }, [
  {
    name: 'ipvs-open-connections',
    attention: 'decide',
    kubeProxy: 'IPVS itself remembers where open connections go.',
    fairlead:
      'It forgets them when its virtual servers are removed, after the first sync of the new mode: expect open connections to Services to break.',
    action: 'Drain the node before the move, or stay in ipvs mode.',
    rollback: 'The same on the way back: drain the node.',
    shownBy: 'src/cli/cleanup/remove-other-modes.test.ts',
  },
  {
    name: 'ipvs-balancing',
    kubeProxy: 'The scheduler of IPVS picks an endpoint; rr, the default, takes turns.',
    fairlead:
      'iptables, nftables and ebpf mode pick at random. userspace mode takes turns; an annotation of the Service chooses otherwise.',
    shownBy: 'tests/packet/spread.test.ts',
  },
  {
    name: 'ipvs-local-policy',
    attention: 'decide',
    kubeProxy: 'With policy Local and no endpoint on this node, ipvs mode uses endpoints on other nodes.',
    fairlead: 'The connection is dropped there, as Kubernetes has it.',
    action:
      'Look for Services with policy Local whose clients come to nodes without a pod: a DaemonSet or policy Cluster helps.',
    shownBy: 'tests/packet/flows.nftables.test.ts',
  },
  {
    name: 'ipvs-addresses-on-the-node',
    kubeProxy: 'All addresses of Services are on the link kube-ipvs0.',
    fairlead: 'The link is removed after the first sync. strictARP is no longer needed, also for MetalLB.',
    rollback: 'kube-proxy makes the link again.',
    shownBy: 'src/backends/ipvs/leftovers.test.ts',
  },
  {
    name: 'ipvs-sysctls-stay',
    kubeProxy: 'It has set net.ipv4.vs.* and, with strictARP, arp_ignore and arp_announce.',
    fairlead: 'They stay as they are: nobody knows their earlier values.',
    action: 'Harmless. A reboot resets them.',
    shownBy: 'src/backends/ipvs/kernel-settings.test.ts',
  },
])

const toIpvs = behaviours({ from: ['iptables', 'nftables', 'userspace'], to: ['ipvs'] }, [
  {
    name: 'to-ipvs',
    attention: 'decide',
    kubeProxy: 'No virtual servers are used.',
    fairlead: 'ipvs mode deletes every IPVS virtual server on the node that belongs to no Service.',
    action:
      'If keepalived or another program uses IPVS, list its addresses in ipvs.excludeCIDRs. For new set-ups nftables mode is better: Kubernetes has deprecated ipvs.',
    rollback:
      'Switch Fairlead to the mode of kube-proxy first: that removes virtual servers, sets and kube-ipvs0. The sysctls net.ipv4.vs.* stay.',
    shownBy: 'src/backends/ipvs/ipvs-backend.test.ts',
  },
  {
    name: 'to-ipvs-local-policy',
    attention: 'decide',
    kubeProxy: 'With policy Local and no endpoint on this node, the connection is dropped.',
    fairlead: "ipvs mode uses endpoints on other nodes (as in kube-proxy's ipvs mode).",
    action: 'Nothing, unless a load balancer relies on silent nodes.',
    shownBy: 'src/backends/ipvs/plan.test.ts',
  },
])

const affinity = behaviours(
  { from: ['iptables', 'ipvs', 'nftables', 'userspace'], to: ['nftables', 'ebpf', 'userspace'] },
  [
    {
      name: 'affinity-starts-anew',
      kubeProxy: 'Remembers which client has which endpoint (sessionAffinity: ClientIP).',
      fairlead:
        'This mode has a memory of its own: each client may get another endpoint once, with its next connection.',
      rollback: 'The same on the way back.',
      shownBy: 'tests/packet/affinity.test.ts',
    },
    {
      name: 'affinity-starts-anew-with-rules',
      from: ['ipvs', 'nftables', 'userspace'],
      to: ['iptables'],
      kubeProxy: 'Remembers which client has which endpoint (sessionAffinity: ClientIP).',
      fairlead: 'iptables mode has a memory of its own: each client may get another endpoint once.',
      rollback: 'The same on the way back.',
      shownBy: 'tests/packet/affinity.test.ts',
    },
    {
      name: 'affinity-starts-anew-in-ipvs',
      from: ['iptables', 'nftables', 'userspace'],
      to: ['ipvs'],
      kubeProxy: 'Remembers which client has which endpoint (sessionAffinity: ClientIP).',
      fairlead: 'ipvs mode has a memory of its own: each client may get another endpoint once.',
      rollback: 'The same on the way back.',
      shownBy: 'tests/ipvs/behaviour.test.ts',
    },
  ],
)

const toEbpf = behaviours({ from: linuxModes, to: ['ebpf'] }, [
  {
    name: 'sockets-instead-of-packets',
    kubeProxy: 'Packets of clients on the node carry the address of the Service, and are translated.',
    fairlead:
      'Their sockets are connected to the endpoint: no packet, no trace and no policy on the node sees the Service.',
    attention: 'decide',
    action:
      'With a service mesh in pods, add --ebpf-scope=host. Look for network policies and monitoring that match Service addresses.',
    shownBy: 'tests/packet/flows.ebpf.test.ts',
  },
  {
    name: 'client-addresses-at-sockets',
    kubeProxy: 'Some traffic of the node and its pods is masqueraded, all of it with masqueradeAll.',
    fairlead: 'Endpoints see the address of the client, whatever masqueradeAll says, for clients on the node.',
    shownBy: 'tests/packet/flows.ebpf.test.ts',
  },
  {
    name: 'node-ports-on-loopback-at-sockets',
    kubeProxy: 'Node ports answer on 127.0.0.1 in iptables mode, and on ::1 in none.',
    fairlead:
      'In ebpf mode they answer on both, for processes of the node. --ebpf-localhost-node-ports=false closes them.',
    shownBy: 'tests/packet/ebpf.test.ts',
  },
])

export const otherMode = { nodePorts, firewalls, leftovers, fromIpvs, toIpvs, affinity, toEbpf }
