/** What each mode says that it would program for one Service, without a machine. */
import { expect, test } from 'vitest'
import { routeKey } from '../../core/route.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { memoryDaemon } from '../daemon/testing/memory-daemon.ts'
import { ebpfDefaults, ebpfOptions } from '../../config/daemon/ebpf-flags.ts'
import { findMode } from './find-mode.ts'

const web = testRoute('demo/web', {
  nodePort: 30080,
  endpoints: [testEndpoint('10.64.0.5', 8080, { isLocal: true }), testEndpoint('10.64.1.6', 8080)],
})
const other = testRoute('demo/other', { clusterIP: '10.96.0.11', endpoints: [testEndpoint('10.64.1.7', 9090)] })

async function piecesOf(name: string, platform: NodeJS.Platform, key = web.key): Promise<readonly string[]> {
  const { config } = (await memoryDaemon()).running
  const mode = await findMode(name as typeof config.mode, platform)
  const settings = { config, nodePortAddresses: [], podCIDRs: [], localIps: () => ['192.0.2.1'] }
  const pieces = mode.pieces(
    testView(web, other),
    { ...settings, hnsNetworkType: 'auto', ebpf: ebpfOptions(ebpfDefaults) },
    key,
  )
  return pieces.map(
    ({ kind, where, text, endpoint }) => `${kind}, ${where}: ${text}${endpoint ? ` => ${endpoint}` : ''}`,
  )
}

const cases = [
  {
    name: 'nftables',
    platform: 'linux',
    pieces: [
      'element, set cluster-ips: 10.96.0.10',
      'element, map services: 10.96.0.10 . tcp . 80 comment "demo/web" : goto pick-2',
      'element, map endpoints: 10.96.0.10 . tcp . 80 . 0 : 10.64.0.5 . 8080 => 10.64.0.5:8080',
      'element, map endpoints: 10.96.0.10 . tcp . 80 . 1 : 10.64.1.6 . 8080 => 10.64.1.6:8080',
      'element, map nodeports: tcp . 30080 comment "demo/web" : goto nodeport-external-2',
      'element, map nodeport-endpoints: tcp . 30080 . 0 : 10.64.0.5 . 8080 => 10.64.0.5:8080',
      'element, map nodeport-endpoints: tcp . 30080 . 1 : 10.64.1.6 . 8080 => 10.64.1.6:8080',
      'element, set hairpin: 10.64.0.5 . 10.64.0.5 . tcp . 8080',
      'chain, table ip fairlead: chain pick-2',
      'rule, chain pick-2: dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 2 map @endpoints',
      'rule, chain pick-2: dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 map @endpoints comment "if the Service has just lost this endpoint"',
      'chain, table ip fairlead: chain nodeport-pick-2',
      'rule, chain nodeport-pick-2: dnat ip to meta l4proto . th dport . numgen random mod 2 map @nodeport-endpoints',
      'rule, chain nodeport-pick-2: dnat ip to meta l4proto . th dport . numgen random mod 1 map @nodeport-endpoints comment "if the Service has just lost this endpoint"',
      'chain, table ip fairlead: chain nodeport-external-2',
      'rule, chain nodeport-external-2: meta mark set meta mark | 0x00004000',
      'rule, chain nodeport-external-2: goto nodeport-pick-2',
    ],
  },
  {
    name: 'iptables',
    platform: 'linux',
    pieces: [
      'rule, nat/KUBE-SERVICES: -A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "demo/web cluster IP" -m tcp --dport 80 -j KUBE-SVC-YTGZ2JEENUBCE3T3',
      'rule, nat/KUBE-NODEPORTS: -A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m comment --comment "demo/web" -m tcp --dport 30080 -m nfacct --nfacct-name  localhost_nps_accepted_pkts -j KUBE-EXT-YTGZ2JEENUBCE3T3',
      'rule, nat/KUBE-NODEPORTS: -A KUBE-NODEPORTS -p tcp -m comment --comment "demo/web" -m tcp --dport 30080 -j KUBE-EXT-YTGZ2JEENUBCE3T3',
      'chain, nat: :KUBE-EXT-YTGZ2JEENUBCE3T3 - [0:0]',
      'rule, nat/KUBE-EXT-YTGZ2JEENUBCE3T3: -A KUBE-EXT-YTGZ2JEENUBCE3T3 -m comment --comment "masquerade traffic for demo/web external destinations" -j KUBE-MARK-MASQ',
      'rule, nat/KUBE-EXT-YTGZ2JEENUBCE3T3: -A KUBE-EXT-YTGZ2JEENUBCE3T3 -j KUBE-SVC-YTGZ2JEENUBCE3T3',
      'chain, nat: :KUBE-SVC-YTGZ2JEENUBCE3T3 - [0:0]',
      'rule, nat/KUBE-SVC-YTGZ2JEENUBCE3T3: -A KUBE-SVC-YTGZ2JEENUBCE3T3 -m comment --comment "demo/web -> 10.64.0.5:8080" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-UZCF2SWBQQNKCGET => 10.64.0.5:8080',
      'rule, nat/KUBE-SVC-YTGZ2JEENUBCE3T3: -A KUBE-SVC-YTGZ2JEENUBCE3T3 -m comment --comment "demo/web -> 10.64.1.6:8080" -j KUBE-SEP-E3YIVD3KUSYMEYDA => 10.64.1.6:8080',
      'chain, nat: :KUBE-SEP-UZCF2SWBQQNKCGET - [0:0]',
      'rule, nat/KUBE-SEP-UZCF2SWBQQNKCGET: -A KUBE-SEP-UZCF2SWBQQNKCGET -s 10.64.0.5/32 -m comment --comment "demo/web" -j KUBE-MARK-MASQ',
      'rule, nat/KUBE-SEP-UZCF2SWBQQNKCGET: -A KUBE-SEP-UZCF2SWBQQNKCGET -p tcp -m comment --comment "demo/web" -m tcp -j DNAT --to-destination 10.64.0.5:8080 => 10.64.0.5:8080',
      'chain, nat: :KUBE-SEP-E3YIVD3KUSYMEYDA - [0:0]',
      'rule, nat/KUBE-SEP-E3YIVD3KUSYMEYDA: -A KUBE-SEP-E3YIVD3KUSYMEYDA -s 10.64.1.6/32 -m comment --comment "demo/web" -j KUBE-MARK-MASQ',
      'rule, nat/KUBE-SEP-E3YIVD3KUSYMEYDA: -A KUBE-SEP-E3YIVD3KUSYMEYDA -p tcp -m comment --comment "demo/web" -m tcp -j DNAT --to-destination 10.64.1.6:8080 => 10.64.1.6:8080',
    ],
  },
  {
    name: 'ipvs',
    platform: 'linux',
    pieces: [
      'virtual server, IPVS: -A -t 10.96.0.10:80 -s rr',
      'real server, virtual server 10.96.0.10:80/TCP: -a -t 10.96.0.10:80 -r 10.64.0.5:8080 -m -w 1 => 10.64.0.5:8080',
      'real server, virtual server 10.96.0.10:80/TCP: -a -t 10.96.0.10:80 -r 10.64.1.6:8080 -m -w 1 => 10.64.1.6:8080',
      'virtual server, IPVS: -A -t 192.0.2.1:30080 -s rr',
      'real server, virtual server 192.0.2.1:30080/TCP: -a -t 192.0.2.1:30080 -r 10.64.0.5:8080 -m -w 1 => 10.64.0.5:8080',
      'real server, virtual server 192.0.2.1:30080/TCP: -a -t 192.0.2.1:30080 -r 10.64.1.6:8080 -m -w 1 => 10.64.1.6:8080',
      'address, link kube-ipvs0: address add 10.96.0.10/32 dev kube-ipvs0',
      'entry, set KUBE-LOOP-BACK: add KUBE-LOOP-BACK 10.64.0.5,tcp:8080,10.64.0.5',
      'entry, set KUBE-CLUSTER-IP: add KUBE-CLUSTER-IP 10.96.0.10,tcp:80',
      'entry, set KUBE-NODE-PORT-TCP: add KUBE-NODE-PORT-TCP 30080',
      'entry, set KUBE-IPVS-IPS: add KUBE-IPVS-IPS 10.96.0.10',
    ],
  },
  {
    name: 'userspace',
    platform: 'linux',
    pieces: [
      'rule, nat/KUBE-PORTALS-CONTAINER: -A KUBE-PORTALS-CONTAINER -d 10.96.0.10/32 -p tcp -m comment --comment "demo/web" -m tcp --dport 80 -j DNAT --to-destination 192.0.2.1:40000',
      'rule, nat/KUBE-PORTALS-HOST: -A KUBE-PORTALS-HOST -d 10.96.0.10/32 -p tcp -m comment --comment "demo/web" -m tcp --dport 80 -j DNAT --to-destination 192.0.2.1:40000',
      'rule, nat/KUBE-NODEPORT-CONTAINER: -A KUBE-NODEPORT-CONTAINER -p tcp -m comment --comment "demo/web" -m tcp --dport 30080 -j DNAT --to-destination 192.0.2.1:40001',
      'rule, nat/KUBE-NODEPORT-HOST: -A KUBE-NODEPORT-HOST -p tcp -m comment --comment "demo/web" -m tcp --dport 30080 -j DNAT --to-destination 192.0.2.1:40001',
      'rule, filter/KUBE-NODEPORT-NON-LOCAL: -A KUBE-NODEPORT-NON-LOCAL -p tcp -m comment --comment "demo/web" -m tcp --dport 40001 -m state --state NEW -j ACCEPT',
      'rule, filter/KUBE-PORTALS-PORTS: -A KUBE-PORTALS-PORTS -d 192.0.2.1/32 -p tcp -m comment --comment "demo/web proxy port" -m tcp --dport 40000 -m conntrack ! --ctstate DNAT -j REJECT --reject-with icmp-port-unreachable',
      'rule, filter/KUBE-PORTALS-PORTS: -A KUBE-PORTALS-PORTS -d 192.0.2.1/32 -p tcp -m comment --comment "demo/web proxy port" -m tcp --dport 40001 -m conntrack ! --ctstate DNAT -j REJECT --reject-with icmp-port-unreachable',
      'listener, relay TCP: proxy-port 192.0.2.1:40000 -> 10.64.0.5:8080 10.64.1.6:8080 (clients keep their address)',
      'listener, relay TCP: proxy-port 192.0.2.1:40001 -> 10.64.0.5:8080 10.64.1.6:8080',
      'listener, relay TCP: node-port 0.0.0.0:30080 -> 10.64.0.5:8080 10.64.1.6:8080',
      'endpoint, pool ipv4 demo/web/TCP Cluster: 10.64.0.5:8080 => 10.64.0.5:8080',
      'endpoint, pool ipv4 demo/web/TCP Cluster: 10.64.1.6:8080 => 10.64.1.6:8080',
    ],
  },
  {
    name: 'userspace',
    platform: 'win32',
    pieces: [
      'address, interface vEthernet (HNS Internal NIC): netsh interface ipv4 add address "name=vEthernet (HNS Internal NIC)" address=10.96.0.10 mask=255.255.255.255 store=active skipassource=true',
      'listener, relay TCP: cluster-ip 10.96.0.10:80 -> 10.64.0.5:8080 10.64.1.6:8080',
      'listener, relay TCP: node-port 0.0.0.0:30080 -> 10.64.0.5:8080 10.64.1.6:8080',
      'endpoint, pool ipv4 demo/web/TCP Cluster: 10.64.0.5:8080 => 10.64.0.5:8080',
      'endpoint, pool ipv4 demo/web/TCP Cluster: 10.64.1.6:8080 => 10.64.1.6:8080',
    ],
  },
  {
    name: 'kernelspace',
    platform: 'win32',
    pieces: [
      'load balancer, frontend ipv4 6 10.96.0.10 80: {"HostComputeEndpoints":["<endpoint 10.64.0.5>","<endpoint 10.64.1.6>"],"FrontendVIPs":["10.96.0.10"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}],"SchemaVersion":{"Major":2,"Minor":0}}',
      'load balancer, frontend ipv4 6 any 30080: {"HostComputeEndpoints":["<endpoint 10.64.0.5>","<endpoint 10.64.1.6>"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":30080,"Flags":18}],"SchemaVersion":{"Major":2,"Minor":0}}',
      'endpoint, network pod-net: <endpoint 10.64.0.5> => 10.64.0.5:8080',
      'endpoint, network pod-net: <endpoint 10.64.1.6> => 10.64.1.6:8080',
    ],
  },
] as const

test.each(cases)('$name on $platform', async ({ name, platform, pieces }) => {
  expect(await piecesOf(name, platform)).toEqual(pieces)
  expect(await piecesOf(name, platform, routeKey('demo', 'none', '', 'TCP'))).toEqual([])
})
