import { create, get, service } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

const port80 = [{ port: 80 }]

/** Each is the spec of a new Service: what is filled in, and what is refused. */
const specs: Readonly<Record<string, JsonObject>> = {
  'a Service with one port': { ports: port80 },
  'a Service with a selector and a target port by number': {
    selector: { app: 'web' },
    ports: [{ port: 80, targetPort: 8080 }],
  },
  'a Service with a target port by name and an app protocol': {
    ports: [{ name: 'http', port: 80, targetPort: 'web', appProtocol: 'kubernetes.io/h2c' }],
  },
  'a Service with TCP, UDP and SCTP on the same port': {
    ports: ['TCP', 'UDP', 'SCTP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 53, protocol })),
  },
  'a Service without ports': { selector: { app: 'web' } },
  'a Service with an empty list of ports': { ports: [] },
  'a Service with two unnamed ports': { ports: [{ port: 80 }, { port: 81 }] },
  'a Service with two ports of one name': {
    ports: [
      { name: 'a', port: 80 },
      { name: 'a', port: 81 },
    ],
  },
  'a Service with the same port twice': {
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 80 },
    ],
  },
  'a Service with port 0': { ports: [{ port: 0 }] },
  'a Service with port 65536': { ports: [{ port: 65536 }] },
  'a Service with an unknown protocol': { ports: [{ port: 80, protocol: 'QUIC' }] },
  'a Service with a protocol in lower case': { ports: [{ port: 80, protocol: 'tcp' }] },
  'a Service with a bad port name': { ports: [{ name: 'Web_1', port: 80 }] },
  'a Service with a bad target port name': { ports: [{ port: 80, targetPort: 'not a name' }] },
  'a Service with target port 0': { ports: [{ port: 80, targetPort: 0 }] },
  'a Service with target port 70000': { ports: [{ port: 80, targetPort: 70000 }] },
  'a Service with a bad app protocol': { ports: [{ port: 80, appProtocol: 'a b' }] },
  'a Service with a port as a string': { ports: [{ port: '80' }] },
  'a Service with a fractional port': { ports: [{ port: 80.5 }] },
  'a Service with ports that are no list': { ports: { port: 80 } },

  'a headless Service with a selector': { clusterIP: 'None', selector: { app: 'web' }, ports: port80 },
  'a headless Service without a selector': { clusterIP: 'None', ports: port80 },
  'a headless Service without ports': { clusterIP: 'None', selector: { app: 'web' } },
  'a headless NodePort Service': { type: 'NodePort', clusterIP: 'None', ports: port80 },
  'a Service with a chosen cluster IP': { clusterIP: '10.96.40.1', ports: port80 },
  'a Service with chosen cluster IPs of both families': {
    clusterIPs: ['10.96.40.2', 'fd00:10:96::402'],
    ipFamilyPolicy: 'RequireDualStack',
    ports: port80,
  },
  'a Service with two cluster IPs but no policy': { clusterIPs: ['10.96.40.3', 'fd00:10:96::403'], ports: port80 },
  'a Service with two cluster IPs of one family': { clusterIPs: ['10.96.40.4', '10.96.40.5'], ports: port80 },
  'a Service whose cluster IP is not the first of its cluster IPs': {
    clusterIP: '10.96.40.6',
    clusterIPs: ['10.96.40.7'],
    ports: port80,
  },
  'a Service with a cluster IP outside of the range': { clusterIP: '10.200.0.1', ports: port80 },
  'a Service with the network address as cluster IP': { clusterIP: '10.96.0.0', ports: port80 },
  'a Service with the cluster IP of default/kubernetes': { clusterIP: '10.96.0.1', ports: port80 },
  'a Service with nonsense as cluster IP': { clusterIP: '10.96.0.300', ports: port80 },
  'a Service with a cluster IP that has leading zeros': { clusterIP: '10.096.000.010', ports: port80 },
  'a dual-stack Service': { ipFamilyPolicy: 'PreferDualStack', ports: port80 },
  'a dual-stack Service with IPv6 first': {
    ipFamilyPolicy: 'RequireDualStack',
    ipFamilies: ['IPv6', 'IPv4'],
    ports: port80,
  },
  'a Service with IPv6 only': { ipFamilies: ['IPv6'], ports: port80 },
  'a Service with a chosen IPv6 cluster IP only': { clusterIP: 'fd00:10:96::404', ports: port80 },
  'a Service with both families but a single-stack policy': {
    ipFamilyPolicy: 'SingleStack',
    ipFamilies: ['IPv4', 'IPv6'],
    ports: port80,
  },
  'a Service with the same family twice': { ipFamilies: ['IPv4', 'IPv4'], ports: port80 },
  'a Service with an unknown family': { ipFamilies: ['IPv5'], ports: port80 },
  'a Service with an unknown family policy': { ipFamilyPolicy: 'Sometimes', ports: port80 },
  'a headless dual-stack Service without a selector': {
    clusterIP: 'None',
    ipFamilyPolicy: 'RequireDualStack',
    ports: port80,
  },

  'a NodePort Service': { type: 'NodePort', ports: port80 },
  'a NodePort Service with a chosen port': { type: 'NodePort', ports: [{ port: 80, nodePort: 30777 }] },
  'a NodePort Service with TCP and UDP on one chosen port': {
    type: 'NodePort',
    ports: ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 53, protocol, nodePort: 30778 })),
  },
  'a NodePort Service with one chosen port for two ports': {
    type: 'NodePort',
    ports: [
      { name: 'a', port: 80, nodePort: 30779 },
      { name: 'b', port: 81, nodePort: 30779 },
    ],
  },
  'a NodePort Service with a port outside of the range': { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
  'a ClusterIP Service with a node port': { ports: [{ port: 80, nodePort: 30780 }] },
  'a NodePort Service with external policy Local': {
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    ports: port80,
  },
  'a LoadBalancer Service': { type: 'LoadBalancer', ports: port80 },
  'a LoadBalancer Service without node ports': {
    type: 'LoadBalancer',
    allocateLoadBalancerNodePorts: false,
    ports: port80,
  },
  'a LoadBalancer Service with external policy Local': {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    ports: port80,
  },
  'a LoadBalancer Service with a chosen health check port': {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31777,
    ports: port80,
  },
  'a LoadBalancer Service with a health check port but policy Cluster': {
    type: 'LoadBalancer',
    healthCheckNodePort: 31778,
    ports: port80,
  },
  'a LoadBalancer Service with source ranges, a class and an address': {
    type: 'LoadBalancer',
    loadBalancerSourceRanges: ['192.0.2.0/24', '2001:db8::/32'],
    loadBalancerClass: 'example.com/lb',
    loadBalancerIP: '203.0.113.9',
    ports: port80,
  },
  'a LoadBalancer Service with a bad source range': {
    type: 'LoadBalancer',
    loadBalancerSourceRanges: ['192.0.2.0/33'],
    ports: port80,
  },
  'a LoadBalancer Service with a bad class': { type: 'LoadBalancer', loadBalancerClass: 'a b', ports: port80 },
  'a ClusterIP Service with source ranges': { loadBalancerSourceRanges: ['192.0.2.0/24'], ports: port80 },
  'a ClusterIP Service with a load balancer class': { loadBalancerClass: 'example.com/lb', ports: port80 },
  'a ClusterIP Service with allocateLoadBalancerNodePorts': { allocateLoadBalancerNodePorts: true, ports: port80 },

  'an ExternalName Service': { type: 'ExternalName', externalName: 'db.example.com' },
  'an ExternalName Service with ports': { type: 'ExternalName', externalName: 'db.example.com', ports: port80 },
  'an ExternalName Service without a name': { type: 'ExternalName' },
  'an ExternalName Service with a bad name': { type: 'ExternalName', externalName: '-db-' },
  'an ExternalName Service with a cluster IP': {
    type: 'ExternalName',
    externalName: 'db.example.com',
    clusterIP: '10.96.40.8',
  },
  'a ClusterIP Service with an external name': { externalName: 'db.example.com', ports: port80 },
  'a Service of an unknown type': { type: 'Magic', ports: port80 },

  'a Service with client affinity': { sessionAffinity: 'ClientIP', ports: port80 },
  'a Service with client affinity for a minute': {
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    ports: port80,
  },
  'a Service with client affinity for no time': {
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } },
    ports: port80,
  },
  'a Service with client affinity for more than a day': {
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } },
    ports: port80,
  },
  'a Service with an affinity time but no affinity': {
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    ports: port80,
  },
  'a Service with an unknown affinity': { sessionAffinity: 'Cookie', ports: port80 },

  'a Service with internal policy Local': { internalTrafficPolicy: 'Local', ports: port80 },
  'a Service with an unknown internal policy': { internalTrafficPolicy: 'Near', ports: port80 },
  'a ClusterIP Service with an external policy': { externalTrafficPolicy: 'Local', ports: port80 },
  'a ClusterIP Service with external IPs and an external policy': {
    externalIPs: ['203.0.113.5', '2001:db8::5'],
    externalTrafficPolicy: 'Local',
    ports: port80,
  },
  'a NodePort Service with an unknown external policy': {
    type: 'NodePort',
    externalTrafficPolicy: 'Near',
    ports: port80,
  },
  'a Service with external IPs': { externalIPs: ['203.0.113.5'], ports: port80 },
  'a Service with a bad external IP': { externalIPs: ['203.0.113.5', 'nonsense'], ports: port80 },
  'a Service with a loopback external IP': { externalIPs: ['127.0.0.1'], ports: port80 },
  'a Service with an external IP that has leading zeros': { externalIPs: ['203.000.113.005'], ports: port80 },
  'a Service that prefers close endpoints': { trafficDistribution: 'PreferClose', ports: port80 },
  'a Service that prefers endpoints on the same node': { trafficDistribution: 'PreferSameNode', ports: port80 },
  'a Service with an unknown distribution': { trafficDistribution: 'Random', ports: port80 },
  'a Service that publishes endpoints that are not ready': { publishNotReadyAddresses: true, ports: port80 },
  'a Service with a bad selector': { selector: { 'a b': 'c d' }, ports: port80 },
}

/** Where the embedded server answers otherwise, and may. */
const differences: Readonly<Record<string, string>> = {
  'a LoadBalancer Service with a bad source range': 'the real server spells the field with a capital letter',
  'a ClusterIP Service with source ranges': 'the real server spells the field with a capital letter',
}

export const serviceScenarios: readonly Scenario[] = Object.entries(specs).map(([name, spec]) => ({
  name,
  ...(differences[name] === undefined ? {} : { differs: differences[name] }),
  steps: [create('services', service(spec)), get('services', 'web')],
}))
