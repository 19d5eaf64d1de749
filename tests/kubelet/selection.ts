/** Which of the 7,579 tests of Kubernetes are run, and why the others of the network are not. */

export const focus = ['\\[sig-network\\]']

/** By the words in their names. */
export const leftOut: readonly { readonly words: readonly string[]; readonly reason: string }[] = [
  { words: ['Serial', 'Disruptive'], reason: 'they restart the proxy, the API server or a node, by ssh' },
  { words: ['Feature:LoadBalancer', 'Provider:GCE'], reason: 'no cloud gives out addresses here' },
  { words: ['Feature:NetworkPolicy'], reason: 'a policy is the work of the pod network, not of the proxy' },
  {
    words: ['Feature:SCTPConnectivity'],
    reason: 'many small kernels have no SCTP sockets; `tests/packet` has its own test',
  },
  { words: ['Feature:Ingress'], reason: 'there is no ingress controller' },
  {
    words: ['Feature:Networking-IPv4', 'Feature:Networking-IPv6', 'Feature:Networking-DNS'],
    reason: 'they ask the Internet',
  },
  { words: ['Feature:Networking-Performance', 'Feature:PerformanceDNS'], reason: 'they measure, and want many nodes' },
  {
    words: [
      'Feature:KubeProxyDaemonSetUpgrade',
      'Feature:KubeProxyDaemonSetDowngrade',
      'Feature:KubeProxyDaemonSetMigration',
    ],
    reason: 'they replace kube-proxy on machines of one cloud',
  },
]

export const skip = leftOut.flatMap(({ words }) => words.map((word) => `\\[${word}\\]`))

/** Run when they are named: they need more of the machine than the others, here cgroup v2 and a kernel with BPF. */
export const onlyByName: readonly string[] = ['fairlead-ebpf']

/** The modes of a smoke: those with the least in common. */
export const smokeProxies: readonly string[] = ['fairlead-nftables', 'fairlead-userspace']

/** A minute of the above for each of them: at least one test of each way to a Service. */
export const smokeFocus = [
  'Services should be able to create a functioning NodePort service',
  'Services should be possible to connect to a service via ExternalIP',
  'Services should preserve source pod IP for traffic thru service cluster IP',
  'Services should have session affinity work for service with type clusterIP',
  'Services should allow pods to hairpin back to themselves through services',
  'Services should be rejected when no endpoints exist',
  'DNS should provide DNS for services',
].map((name) => `\\[sig-network\\] ${name}`)
