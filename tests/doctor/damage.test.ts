/** One node for each finding, damaged in one way: the doctor finds exactly that, with what there is to see. */
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { limitedTo } from '../packet/testing/limited-to.ts'
import { healthyObjects, node as nodeObject, realProgram, service, SickNode } from './testing/sick-node.ts'
import { sickNodeProblem, slice, web } from './testing/sick-node.ts'

const problem = sickNodeProblem()

interface Damage {
  /** What must be found; all other errors and warnings are mistakes. */
  readonly name: string
  readonly isNote?: boolean
  readonly evidence: RegExp
  /** The checks that find it, where that matters. */
  readonly by?: readonly string[]
  /** Others that follow from it. */
  readonly also?: readonly string[]
  readonly mode?: string
  readonly flags?: (node: SickNode) => readonly string[]
  /** `start`: before the start. `stopped`: without a daemon, where one is expected. `running`: the test starts one. */
  readonly when?: 'start' | 'stopped' | 'running'
  readonly make: (node: SickNode) => unknown
}

const conntrack = '/proc/sys/net/netfilter'
const listen = (port: number, ip = '0.0.0.0') =>
  ['-e', `require('net').createServer().listen(${port}, '${ip}', () => console.log('listening'))`] as const
const endless = 'console.log("started"); setInterval(() => {}, 1000)'
const nft = (rules: string) => (node: SickNode) => node.run(`nft -f - <<'END'\n${rules}\nEND`)
const objects =
  (...list: readonly unknown[]) =>
  (node: SickNode) =>
    node.objects(...list)

/** As a kernel without xt_socket, or a distribution that leaves the extension out. */
function withoutSocketMatch(node: SickNode): void {
  for (const tool of ['iptables-nft-restore', 'ip6tables-nft-restore'])
    node.tool(
      tool,
      `script=$(cat); case "$script" in *"-m socket"*) echo "Extension socket revision 0 not supported, missing kernel module?" >&2; exit 2;; esac
       echo "$script" | exec ${realProgram(tool)} "$@"`,
    )
}

const damages: readonly Damage[] = [
  // The kernel and its tools.
  {
    name: 'nft-unusable',
    evidence: /nft is version 0\.9\.8/,
    make: (node) =>
      node.tool(
        'nft',
        `test "$1" = --version && { echo "nftables v0.9.8 (E.D.S.)"; exit; }; exec ${realProgram('nft')} "$@"`,
      ),
  },
  {
    name: 'kernel-feature-missing',
    evidence: /No such file or directory/,
    make: (node) =>
      node.tool(
        'nft',
        `test "$1" = --check || exec ${realProgram('nft')} "$@"
         script=$(cat); case "$script" in *"fib saddr"*) echo "/dev/stdin:1:1-3: Error: Could not process rule: No such file or directory" >&2; exit 1;; esac
         echo "$script" | exec ${realProgram('nft')} "$@"`,
      ),
  },
  {
    name: 'iptables-unusable',
    mode: 'iptables',
    evidence: /version 1\.4\.21/,
    make: (node) => {
      for (const name of ['iptables', 'ip6tables'])
        for (const variant of ['', '-nft', '-legacy'])
          node.tool(`${name}${variant}`, 'test "$1" = --version && { echo "iptables v1.4.21"; exit; }; exit 1')
    },
  },
  {
    name: 'iptables-extension-missing',
    mode: 'iptables',
    evidence: /Extension statistic revision 0 not supported, missing kernel module/,
    make: (node) =>
      node.tool(
        'iptables-nft-restore',
        `script=$(cat); case "$script" in *statistic*) echo "Warning: Extension statistic revision 0 not supported, missing kernel module?" >&2; exit 1;; esac
         echo "$script" | exec ${realProgram('iptables-nft-restore')} "$@"`,
      ),
  },
  {
    name: 'client-address-lost',
    mode: 'userspace',
    evidence: /Extension socket .* missing kernel module/,
    make: withoutSocketMatch,
  },
  {
    name: 'tool-broken',
    mode: 'iptables',
    evidence: /ip6tables --version: killed by SIGSEGV/,
    make: (node) =>
      node.tool('ip6tables', `test "$1" = --version && kill -SEGV $$; exec ${realProgram('ip6tables')} "$@"`),
  },
  {
    name: 'tool-known-bad',
    evidence: /v1\.8\.2 \(nf_tables\)/,
    make: (node) =>
      node.tool(
        'iptables',
        `test "$1" = --version && { echo "iptables v1.8.2 (nf_tables)"; exit; }; exec ${realProgram('iptables')} "$@"`,
      ),
  },
  {
    name: 'ipvs-unusable',
    mode: 'ipvs',
    evidence: /the kernel does not have IPVS/,
    make: (node) => {
      // Over netlink it would ask the kernel of this machine, which may have it.
      node.withoutNativeCode()
      node.tool('ipvsadm', 'echo "Can\'t initialize ipvs: Protocol not available" >&2; exit 255')
      node.tool('modprobe', 'exit 1')
      node.tool('ipset', 'echo "ipset v7.17, protocol version: 7"')
    },
  },
  {
    name: 'iptables-variants-mixed',
    evidence: /iptables-nft: 1 rule; iptables-legacy: 1 rule$/,
    make: (node) =>
      node.run('iptables-nft -A INPUT -s 198.51.100.1 -j LOG; iptables-legacy -A INPUT -s 198.51.100.1 -j LOG'),
  },
  {
    name: 'capability-missing',
    evidence: /CapEff: 0{16}/,
    make: (node) => node.startedBy(...limitedTo([])),
    also: ['not-checked'],
  },
  ...(
    [
      { mode: 'nftables', unseen: ['foreign-rules', 'iptables-variants', 'leftovers'] },
      {
        mode: 'iptables',
        unseen: ['capabilities-legacy', 'foreign-rules', 'iptables-variants', 'kernel-iptables', 'leftovers'],
      },
    ] as const
  ).map(({ mode, unseen }) => ({
    name: 'not-checked',
    mode,
    evidence: /CAP_NET_RAW for iptables-legacy/,
    // As docs/doctor.md says.
    by: unseen,
    make: (node: SickNode) => {
      node.run('iptables-legacy -A INPUT -s 198.51.100.1 -j LOG')
      node.startedBy(...limitedTo(['NET_ADMIN']))
    },
  })),
  // Settings.
  {
    name: 'ip-forward-off',
    evidence: /ip_forward = 0/,
    make: (node) => node.namespace.setSysctl('ipv4.ip_forward', 0),
  },
  {
    name: 'ipv6-forward-off',
    when: 'stopped',
    evidence: /ipv6\.conf\.all\.forwarding = 0/,
    make: (node) => node.namespace.setSysctl('ipv6.conf.all.forwarding', 0),
  },
  {
    name: 'rp-filter-strict',
    isNote: true,
    evidence: /rp_filter = 1 on eth0, eth1/,
    make: (node) => {
      node.namespace.ip(
        'link add eth1 type veth peer name out1',
        'addr add 198.51.100.2/24 dev eth1',
        'link set eth1 up',
        'link set out1 up',
      )
      node.namespace.setSysctl('ipv4.conf.all.rp_filter', 1)
    },
  },
  {
    name: 'bridge-nf-call-off',
    evidence: /bridge cni0 with 10\.64\.0\.1.*(?:bridge-nf-call-iptables = 0|br_netfilter is not loaded)/,
    make: (node) => {
      node.namespace.ip(
        'link add cni0 type bridge',
        'addr add 10.64.0.1/24 dev cni0',
        'link set cni0 up',
        'link set out0 master cni0',
      )
      // It shows the devices of the namespace in which it was mounted.
      node.mount('mount -t sysfs none /sys')
      if (existsSync('/proc/sys/net/bridge')) node.namespace.setSysctl('bridge.bridge-nf-call-iptables', 0)
    },
  },
  {
    name: 'route-localnet-on',
    isNote: true,
    when: 'stopped',
    evidence: /route_localnet = 1/,
    make: (node) => node.namespace.setSysctl('ipv4.conf.all.route_localnet', 1),
  },
  {
    name: 'route-localnet-off',
    mode: 'iptables',
    when: 'running',
    evidence: /route_localnet = 0/,
    make: async (node) => {
      await node.daemon('iptables')
      node.namespace.setSysctl('ipv4.conf.all.route_localnet', 0)
    },
  },
  {
    name: 'conntrack-missing',
    evidence: /no \/proc\/sys\/net\/netfilter\/nf_conntrack_max/,
    make: (node) => node.mount(`mount -t tmpfs none ${conntrack}`),
  },
  { name: 'conntrack-full', when: 'stopped', evidence: /97 %/, make: (node) => fill(node, 970) },
  { name: 'conntrack-filling', evidence: /80 %/, make: (node) => fill(node, 800) },
  {
    name: 'conntrack-setting-differs',
    when: 'running',
    evidence: /nf_conntrack_udp_timeout = 11, configured: 77/,
    make: async (node) => {
      await node.daemon('nftables', '--conntrack-udp-timeout=77s')
      node.namespace.setSysctl('netfilter.nf_conntrack_udp_timeout', 11)
    },
  },
  {
    name: 'settings-read-only',
    evidence: /nf_conntrack_udp_timeout = \d+, configured: 77/,
    flags: () => ['--conntrack-udp-timeout=77s'],
    make: (node) => node.mount('mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys'),
  },
  // Other proxies, and rules of others.
  {
    name: 'leftovers-before-start',
    isNote: true,
    evidence: /table ip kube-proxy/,
    make: nft('table ip kube-proxy {}'),
  },
  {
    name: 'leftovers',
    when: 'running',
    evidence: /table ip kube-proxy \(all that the nftables mode of kube-proxy makes\)/,
    make: async (node) => {
      // Once this one is gone, Fairlead has cleaned up and does not do it again.
      nft('table ip6 kube-proxy {}')(node)
      await node.daemon('nftables')
      node.run('while nft list table ip6 kube-proxy >/dev/null 2>&1; do sleep 0.05; done')
      nft('table ip kube-proxy {}')(node)
    },
  },
  {
    name: 'rules-translate-service',
    also: ['leftovers'],
    when: 'running',
    evidence:
      /^iptables-nft table nat, chain PREROUTING .*: -A KUBE-SEP-THERE .*-j DNAT --to-destination 10\.64\.0\.98:8080$/,
    make: async (node) => {
      nft('table ip6 kube-proxy {}')(node)
      await node.daemon('nftables')
      node.run('while nft list table ip6 kube-proxy >/dev/null 2>&1; do sleep 0.05; done')
      node.run(`iptables-nft-restore <<'END'
*nat
:KUBE-SERVICES - [0:0]
:KUBE-SVC-WEB - [0:0]
:KUBE-SEP-HERE - [0:0]
:KUBE-SEP-THERE - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-WEB
-A KUBE-SVC-WEB -m statistic --mode random --probability 0.5 -j KUBE-SEP-HERE
-A KUBE-SVC-WEB -j KUBE-SEP-THERE
-A KUBE-SEP-HERE -p tcp -m tcp -j DNAT --to-destination 10.64.0.99:8080
-A KUBE-SEP-THERE -p tcp -m tcp -j DNAT --to-destination 10.64.0.98:8080
COMMIT
END`)
    },
  },
  {
    name: 'kube-proxy-running',
    evidence: /process \d+: kube-proxy -e /,
    make: (node) => node.start('bash', '-c', `exec -a kube-proxy ${process.execPath} -e '${endless}'`),
  },
  {
    name: 'two-fairleads',
    evidence: /fairlead\.js --proxy-mode=iptables/,
    make: (node) => node.start(process.execPath, node.file('fairlead.js', endless), '--proxy-mode=iptables'),
  },
  {
    name: 'rules-drop-service',
    evidence:
      /nft table inet fw, chain raw \(filter hook prerouting, priority -300\): raw: ip daddr 10\.96\.0\.10 drop/,
    make: nft('table inet fw { chain raw { type filter hook prerouting priority -300; ip daddr 10.96.0.10 drop; }; }'),
  },
  {
    name: 'rules-drop-service',
    evidence:
      /iptables-nft table mangle, chain PREROUTING .*: -A PREROUTING -d 192\.0\.2\.10\/32 -p tcp -m tcp --dport 30080 -j DROP/,
    make: (node) => node.run('iptables-nft -t mangle -A PREROUTING -d 192.0.2.10 -p tcp --dport 30080 -j DROP'),
  },
  {
    name: 'rules-drop-service',
    evidence: /nft table inet firewalld, chain filter_FORWARD .*reject/,
    make: nft(
      'table inet firewalld { chain filter_FORWARD { type filter hook forward priority 10; ct state { established, related } accept; iifname "lo" accept; reject with icmpx admin-prohibited; }; }',
    ),
  },
  {
    name: 'rules-drop-some',
    evidence: /ip saddr 203\.0\.113\.0\/24 ip daddr 10\.96\.0\.0\/16 drop/,
    make: nft(
      'table ip fw { chain raw { type filter hook prerouting priority -300; ip saddr 203.0.113.0/24 ip daddr 10.96.0.0/16 drop; }; }',
    ),
  },
  {
    name: 'rules-translate-service',
    evidence: /iptables-legacy table nat, chain PREROUTING .* -j DNAT --to-destination 198\.51\.100\.9:81/,
    make: (node) =>
      node.run(
        'iptables-legacy -t nat -A PREROUTING -d 10.96.0.10 -p tcp --dport 80 -j DNAT --to-destination 198.51.100.9:81',
      ),
  },
  {
    name: 'rules-translate-service',
    evidence: /nft table ip other-proxy, chain services .*: services: dnat to ip daddr \. tcp dport map …/,
    make: nft(`table ip other-proxy {
      map services { type ipv4_addr . inet_service : ipv4_addr . inet_service; elements = { 10.96.0.10 . 80 : 10.64.0.99 . 8080 }; }
      chain services { type nat hook prerouting priority -110; dnat ip to ip daddr . tcp dport map @services; }
    }`),
  },
  {
    name: 'rules-translate-some',
    evidence: /-A DOCKER ! -i docker0 -p tcp -m tcp --dport 30080 -j DNAT/,
    make: (node) =>
      node.run(`
        iptables-nft -t nat -N DOCKER
        iptables-nft -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
        iptables-nft -t nat -A DOCKER ! -i docker0 -p tcp --dport 30080 -j DNAT --to-destination 172.17.0.2:80`),
  },
  {
    name: 'forward-policy-drop',
    evidence: /iptables-nft table filter, chain FORWARD .*: policy drop/,
    make: (node) =>
      node.run(`
        iptables-nft -P FORWARD DROP
        iptables-nft -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
        iptables-nft -A FORWARD -i docker0 ! -o docker0 -j ACCEPT`),
  },
  {
    name: 'rules-drop-health-check',
    evidence: /tcp dport 10256 drop/,
    make: nft('table inet fw { chain in { type filter hook input priority 0; tcp dport 10256 drop; }; }'),
  },
  // Ports.
  {
    name: 'health-port-taken',
    evidence: /0\.0\.0\.0:10256, process \d+: .*node/,
    make: (node) => node.start(process.execPath, ...listen(10256)),
  },
  {
    name: 'metrics-port-taken',
    evidence: /127\.0\.0\.1:10249, process \d+: .*node/,
    make: (node) => node.start(process.execPath, ...listen(10249, '127.0.0.1')),
  },
  {
    name: 'node-port-listener',
    evidence: /0\.0\.0\.0:30080\/TCP, process \d+/,
    make: (node) => node.start(process.execPath, ...listen(30080)),
  },
  {
    name: 'health-check-port-taken',
    evidence: /0\.0\.0\.0:31500\/TCP/,
    make: (node) => {
      const balanced = service('web', '10.96.0.10', {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31500,
      })
      node.objects(nodeObject, balanced, slice('web'))
      return node.start(process.execPath, ...listen(31500))
    },
  },
  {
    name: 'node-port-ephemeral',
    evidence: /30080; net\.ipv4\.ip_local_port_range = 20000 60999/,
    make: (node) => node.namespace.setSysctl('ipv4.ip_local_port_range', '20000 60999'),
  },
  {
    name: 'proxy-ports-taken',
    mode: 'userspace',
    flags: () => ['--proxy-port-range=40000-40001'],
    evidence: /2 of 2 ports in 40000-40001/,
    make: async (node) => {
      await node.start(process.execPath, ...listen(40000))
      await node.start(process.execPath, ...listen(40001))
    },
  },
  // Limits and folders.
  {
    name: 'open-files-low',
    evidence: /Max open files 512/,
    make: (node) => node.startedBy('prlimit', '--nofile=512:512', '--'),
  },
  {
    name: 'folder-missing',
    flags: ({ folder }) => [`--state-dir=${folder}/closed/state`],
    evidence: /closed\/state does not exist/,
    make: (node) => {
      node.run(`mkdir ${node.folder}/closed`)
      node.mount(`mount -t tmpfs -o ro none ${node.folder}/closed`)
    },
  },
  {
    name: 'folder-not-writable',
    flags: ({ folder }) => [`--state-dir=${folder}/state`],
    evidence: /mode 700/,
    make: (node) => {
      node.run(`mkdir -m 700 ${node.folder}/state`)
      node.mount(`mount -t tmpfs -o ro,mode=700 none ${node.folder}/state`)
    },
  },
  {
    name: 'folder-writable-by-others',
    flags: ({ folder }) => [`--state-dir=${folder}/state`],
    evidence: /mode 777/,
    make: (node) => {
      node.run(`mkdir ${node.folder}/state`)
      node.mount(`mount -t tmpfs -o size=512m,mode=777 none ${node.folder}/state`)
    },
  },
  {
    name: 'disk-full',
    flags: ({ folder }) => [`--state-dir=${folder}/state`],
    evidence: /0 MiB/,
    make: (node) => {
      node.run(`mkdir -m 700 ${node.folder}/state`)
      node.mount(`mount -t tmpfs -o size=64k,mode=700 none ${node.folder}/state`)
    },
  },
  {
    name: 'disk-nearly-full',
    flags: ({ folder }) => [`--state-dir=${folder}/state`],
    evidence: /8 MiB/,
    make: (node) => {
      node.run(`mkdir -m 700 ${node.folder}/state`)
      node.mount(`mount -t tmpfs -o size=8m,mode=700 none ${node.folder}/state`)
    },
  },
  // Services.
  { name: 'daemon-not-running', when: 'stopped', evidence: /ECONNREFUSED/, make: () => {} },
  {
    name: 'service-no-endpoints',
    when: 'stopped',
    evidence: /no EndpointSlice names it/,
    make: objects(nodeObject, web),
  },
  {
    name: 'service-without-selector',
    when: 'stopped',
    evidence: /no EndpointSlice names it/,
    make: objects(nodeObject, service('web', '10.96.0.10', { selector: undefined })),
  },
  {
    name: 'service-none-ready',
    when: 'stopped',
    evidence: /10\.64\.0\.5:8080 ready=false serving=true terminating=false/,
    make: objects(
      nodeObject,
      web,
      slice('web', { endpoints: [{ addresses: ['10.64.0.5'], conditions: { ready: false } }] }),
    ),
  },
  {
    name: 'service-none-ready',
    when: 'stopped',
    evidence: /web-1: ipv4, 1 endpoints, ports "http" 8080\/TCP/,
    also: ['loopback-address'],
    make: objects(
      nodeObject,
      web,
      slice('web', { endpoints: [{ addresses: ['127.0.0.9'], conditions: { ready: true } }] }),
    ),
  },
  {
    name: 'service-port-unknown',
    when: 'stopped',
    evidence: /ports "https" 8443\/TCP/,
    make: objects(nodeObject, web, slice('web', { ports: [{ name: 'https', port: 8443, protocol: 'TCP' }] })),
  },
  {
    name: 'service-other-family',
    when: 'stopped',
    evidence: /web-1: ipv6, 1 endpoints/,
    make: objects(
      nodeObject,
      web,
      slice('web', { addressType: 'IPv6', endpoints: [{ addresses: ['2001:db8:1::5'], conditions: { ready: true } }] }),
    ),
  },
  {
    name: 'service-none-on-node',
    isNote: true,
    when: 'stopped',
    evidence: /internalTrafficPolicy Local/,
    make: objects(
      nodeObject,
      service('web', '10.96.0.10', { internalTrafficPolicy: 'Local' }),
      slice('web', { endpoints: [{ addresses: ['10.64.1.5'], nodeName: 'node-b', conditions: { ready: true } }] }),
    ),
  },
  {
    name: 'address-in-use',
    when: 'stopped',
    evidence: /external IP 10\.96\.0\.10:80\/TCP is not served: it is a cluster IP of demo\/web/,
    make: objects(...healthyObjects, service('thief', '10.96.0.66', { externalIPs: ['10.96.0.10'] }), slice('thief')),
  },
  {
    name: 'address-in-use',
    when: 'stopped',
    evidence: /node port 30080\/TCP is not served: it is a node port of demo\//,
    make: objects(
      ...healthyObjects,
      service('zwei', '10.96.0.67', {
        type: 'NodePort',
        ports: [{ name: 'http', port: 80, nodePort: 30080, protocol: 'TCP' }],
      }),
      slice('zwei'),
    ),
  },
  {
    name: 'node-address',
    isNote: true,
    when: 'stopped',
    evidence: /external IP 192\.0\.2\.10 is an address of this node/,
    make: objects(nodeObject, service('web', '10.96.0.10', { externalIPs: ['192.0.2.10'] }), slice('web')),
  },
  {
    name: 'guarded-address',
    when: 'stopped',
    evidence: /external IP 10\.64\.0\.5 is served on 80\/TCP, although it is in the range of pods 10\.64\.0\.0\/16/,
    flags: () => ['--cluster-cidr=10.64.0.0/16'],
    make: objects(nodeObject, service('web', '10.96.0.10', { externalIPs: ['10.64.0.5'] }), slice('web')),
  },
  {
    name: 'external-ip-not-allowed',
    when: 'stopped',
    evidence: /external IP 198\.51\.100\.1 is not served: no range of --external-ip-cidrs has it/,
    flags: () => ['--external-ip-cidrs=203.0.113.0/24'],
    make: objects(nodeObject, service('web', '10.96.0.10', { externalIPs: ['198.51.100.1'] }), slice('web')),
  },
  {
    name: 'unsupported-annotation',
    when: 'stopped',
    mode: 'iptables',
    evidence: /algorithm: maglev is ignored: the iptables mode cannot do it; it can do random, source-hash$/,
    make: objects(nodeObject, annotated(web, { 'fairlead.dev/algorithm': 'maglev' }), slice('web')),
  },
  {
    name: 'unsupported-annotation',
    when: 'stopped',
    mode: 'iptables',
    evidence:
      /algorithm: source-hash is ignored: this node cannot do it .* no match "bpf"; add the kernel module xt_bpf/,
    make: (node) => {
      for (const tool of ['iptables-nft', 'ip6tables-nft'])
        node.tool(
          tool,
          `case "$*" in *"-m bpf"*) echo "Warning: Extension bpf revision 0 not supported, missing kernel module?" >&2; exit;; esac
           exec ${realProgram(tool)} "$@"`,
        )
      objects(nodeObject, annotated(web, { 'fairlead.dev/algorithm': 'source-hash' }), slice('web'))(node)
    },
  },
  {
    name: 'loopback-address',
    when: 'stopped',
    evidence: /endpoint 127\.0\.0\.1/,
    make: objects(
      nodeObject,
      web,
      slice('web', {
        endpoints: [
          { addresses: ['127.0.0.1'], conditions: { ready: true } },
          { addresses: ['10.64.0.5'], conditions: { ready: true } },
        ],
      }),
    ),
  },
  {
    name: 'source-ranges-of-other-family',
    when: 'stopped',
    evidence: /has no IPv4 range/,
    make: objects(nodeObject, balanced({ loadBalancerSourceRanges: ['2001:db8::/32'] }), slice('web')),
  },
  {
    name: 'unreadable-source-range',
    when: 'stopped',
    evidence: /cannot be read and allows nobody/,
    also: ['object-ignored'],
    make: objects(nodeObject, balanced({ loadBalancerSourceRanges: ['nonsense'] }), slice('web')),
  },
  {
    name: 'object-ignored',
    when: 'stopped',
    evidence: /externalIPs/,
    make: objects(nodeObject, service('web', '10.96.0.10', { externalIPs: ['not-an-ip'] }), slice('web')),
  },
  // The API server.
  {
    name: 'api-config-unusable',
    flags: () => ['--objects=', '--kubeconfig=/nowhere/kubeconfig'],
    evidence: /\/nowhere\/kubeconfig/,
    make: () => {},
  },
  {
    name: 'api-unreachable',
    flags: () => ['--master=http://127.0.0.1:1'],
    evidence: /ECONNREFUSED|refused/,
    make: () => {},
  },
  {
    name: 'api-name-unresolved',
    flags: () => ['--master=http://api.invalid:6443'],
    evidence: /api\.invalid/,
    make: (node) => existsSync('/etc/resolv.conf') && node.replace('/etc/resolv.conf', 'nameserver 127.0.0.1\n'),
  },
  {
    name: 'clock-off',
    flags: () => ['--master=http://127.0.0.1:6443'],
    evidence: /API server 2001-09-09T01:46:40/,
    make: (node) =>
      node.start(
        process.execPath,
        '-e',
        `require('http').createServer((request, response) => {
           response.setHeader('Date', new Date(1e12).toUTCString())
           response.writeHead(201, { 'content-type': 'application/json' }).end('{"status":{"allowed":true}}')
         }).listen(6443, '127.0.0.1', () => console.log('listening'))`,
      ),
  },
]

describe.skipIf(problem !== undefined)(`damage${problem === undefined ? '' : ` (skipped: ${problem})`}`, () => {
  for (const [index, damage] of damages.entries()) {
    const { name, isNote = false, evidence, also = [], mode = 'nftables', flags, when = 'start', make } = damage
    test.concurrent(`${name} is found (${index + 1})`, async () => {
      await using node = new SickNode()
      await make(node)
      const more = flags?.(node) ?? []
      const isFromApi = more.some((flag) => /^--(?:master|kubeconfig)=/.test(flag))
      const all = [...node.flags(mode).filter((flag) => !isFromApi || !flag.startsWith('--objects=')), ...more]
      const given = all.filter((flag) => flag !== '--objects=')
      const { findings, names, exitCode } = await node.examine(
        ...(when === 'start' ? ['--before-start'] : []),
        ...(when === 'running' ? [] : given),
      )
      const found = findings.filter((finding) => finding.name === name)
      expect(found.map((finding) => finding.evidence).join('\n')).toMatch(evidence)
      const expected = [...also, ...(isNote ? [] : [name]), ...(when === 'stopped' ? ['daemon-not-running'] : [])]
      expect(names).toEqual([...new Set(expected)].sort())
      const checks = found.map(({ check }) => check).sort()
      expect(checks).toEqual(damage.by ?? checks)
      for (const { what, fix } of found) {
        expect(what).toMatch(/\.$/)
        expect(fix).not.toBe('')
      }
      expect(exitCode).toBe(findings.some(({ severity }) => severity === 'error') ? 1 : 0)
    })
  }
})

function fill(node: SickNode, count: number): void {
  node.replace(`${conntrack}/nf_conntrack_count`, `${count}\n`)
  node.replace(`${conntrack}/nf_conntrack_max`, '1000\n')
}

function balanced(spec: Readonly<Record<string, unknown>>): unknown {
  return {
    ...(service('web', '10.96.0.10', { type: 'LoadBalancer', ...spec }) as object),
    status: { loadBalancer: { ingress: [{ ip: '198.51.100.9' }] } },
  }
}

function annotated(object: unknown, annotations: Readonly<Record<string, string>>): unknown {
  const { metadata, ...rest } = object as { readonly metadata: object }
  return { ...rest, metadata: { ...metadata, annotations } }
}
