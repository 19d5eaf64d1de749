import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'

const second = 1_000
const hour = 3_600_000

/** How traffic is forwarded. */
export const proxyFlags = {
  ...inGroup('Proxy mode', {
    'proxy-mode': {
      type: type.text,
      default: '',
      configField: 'mode',
      help: 'How traffic is forwarded. Linux: iptables (default), ipvs, nftables, ebpf, userspace. Windows: kernelspace (default), userspace (also winuserspace).',
    },
    'proxy-port-range': {
      type: type.text,
      default: '',
      configField: 'portRange',
      help: 'Proxy ports of the userspace mode: from-to, from+size, or one port. Empty: any free port. No effect in other modes.',
    },
    'masquerade-all': {
      type: type.bool,
      default: false,
      configField: 'iptables.masqueradeAll',
      help: 'Masquerade all traffic to cluster IPs. In nftables and ebpf mode the field is nftables.masqueradeAll.',
    },
    'nodeport-addresses': {
      type: type.strings,
      default: [],
      configField: 'nodePortAddresses',
      help: "CIDRs of the node's addresses that accept node ports, or 'primary' for the node's primary addresses. Empty: all.",
    },
    'iptables-masquerade-bit': {
      type: type.int32,
      default: 14,
      configField: 'iptables.masqueradeBit',
      help: 'Bit of the packet mark that requests masquerading (iptables and ipvs), 0 to 31.',
    },
    'iptables-localhost-nodeports': {
      type: type.bool,
      default: true,
      configField: 'iptables.localhostNodePorts',
      help: 'Open node ports on 127.0.0.1 too (iptables, IPv4 only).',
    },
    'iptables-sync-period': {
      type: type.duration,
      default: 30 * second,
      configField: 'iptables.syncPeriod',
      help: 'How often rules are checked and a failed sync is retried, in every mode but ipvs.',
    },
    'iptables-min-sync-period': {
      type: type.duration,
      default: second,
      configField: 'iptables.minSyncPeriod',
      help: 'The shortest time between two syncs, in every mode but ipvs. 0 means none.',
    },
    'ipvs-sync-period': {
      type: type.duration,
      default: 30 * second,
      configField: 'ipvs.syncPeriod',
      help: 'How often everything is synced in ipvs mode.',
    },
    'ipvs-min-sync-period': {
      type: type.duration,
      default: second,
      configField: 'ipvs.minSyncPeriod',
      help: 'The shortest time between two syncs in ipvs mode. 0 means none.',
    },
    'ipvs-scheduler': {
      type: type.text,
      default: '',
      configField: 'ipvs.scheduler',
      help: 'The scheduler of virtual servers in ipvs mode. Empty: rr.',
    },
    'ipvs-exclude-cidrs': {
      type: type.strings,
      default: [],
      configField: 'ipvs.excludeCIDRs',
      help: 'CIDRs of virtual servers of other programs. Fairlead leaves these alone in ipvs mode.',
    },
    'ipvs-strict-arp': {
      type: type.bool,
      default: false,
      configField: 'ipvs.strictARP',
      help: 'Set arp_ignore to 1 and arp_announce to 2 in ipvs mode.',
    },
    'ipvs-tcp-timeout': {
      type: type.duration,
      default: 0,
      configField: 'ipvs.tcpTimeout',
      help: 'Idle timeout of TCP connections in ipvs mode. 0 leaves the kernel setting alone.',
    },
    'ipvs-tcpfin-timeout': {
      type: type.duration,
      default: 0,
      configField: 'ipvs.tcpFinTimeout',
      help: 'Timeout of TCP connections after a FIN in ipvs mode. 0 leaves the kernel setting alone.',
    },
    'ipvs-udp-timeout': {
      type: type.duration,
      default: 0,
      configField: 'ipvs.udpTimeout',
      help: 'Timeout of UDP in ipvs mode. 0 leaves the kernel setting alone.',
    },
  }),

  ...inGroup('Local traffic', {
    'detect-local-mode': {
      type: type.text,
      default: '',
      configField: 'detectLocalMode',
      help: 'How to recognise traffic from local pods: ClusterCIDR (default on Linux), NodeCIDR, BridgeInterface, InterfaceNamePrefix.',
    },
    'cluster-cidr': {
      type: type.text,
      default: '',
      configField: 'clusterCIDR',
      help: 'The pod addresses of the cluster: one CIDR, or one of each family separated by a comma.',
    },
    'pod-bridge-interface': {
      type: type.text,
      default: '',
      configField: 'detectLocal.bridgeInterface',
      help: 'The bridge of the pods, for --detect-local-mode=BridgeInterface.',
    },
    'pod-interface-name-prefix': {
      type: type.text,
      default: '',
      configField: 'detectLocal.interfaceNamePrefix',
      help: "Prefix of the names of the pods' interfaces, for --detect-local-mode=InterfaceNamePrefix.",
    },
  }),

  ...inGroup('Connection tracking', {
    'conntrack-max-per-core': {
      type: type.int32,
      default: 32 * 1024,
      configField: 'conntrack.maxPerCore',
      help: "Limit of tracked connections per CPU. 0 leaves the kernel's limit alone and ignores --conntrack-min.",
    },
    'conntrack-min': {
      type: type.int32,
      default: 128 * 1024,
      configField: 'conntrack.min',
      help: 'Lowest limit of tracked connections, whatever the number of CPUs.',
    },
    'conntrack-tcp-timeout-established': {
      type: type.duration,
      default: 24 * hour,
      configField: 'conntrack.tcpEstablishedTimeout',
      help: 'Idle timeout of established TCP connections. 0 leaves the kernel setting alone.',
    },
    'conntrack-tcp-timeout-close-wait': {
      type: type.duration,
      default: hour,
      configField: 'conntrack.tcpCloseWaitTimeout',
      help: 'Timeout of half-closed TCP connections. 0 leaves the kernel setting alone.',
    },
    'conntrack-tcp-be-liberal': {
      type: type.bool,
      default: false,
      configField: 'conntrack.tcpBeLiberal',
      help: 'Do not drop TCP packets that are outside the window (nf_conntrack_tcp_be_liberal).',
    },
    'conntrack-udp-timeout': {
      type: type.duration,
      default: 0,
      configField: 'conntrack.udpTimeout',
      help: 'Idle timeout of UDP without an answer. 0 leaves the kernel setting alone.',
    },
    'conntrack-udp-timeout-stream': {
      type: type.duration,
      default: 0,
      configField: 'conntrack.udpStreamTimeout',
      help: 'Idle timeout of UDP with answers. 0 leaves the kernel setting alone.',
    },
  }),
} as const
