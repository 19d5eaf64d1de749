/** What HNS answers. */
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { parseIp } from '../../net/ip.ts'
import { failureOf } from './hresult.ts'
import { HcnError } from './hcn.ts'
import type { HcnEndpoint, HcnNetwork, HnsVersion, LoadBalancer, LoadBalancerSummary, RemoteSubnet } from './hcn.ts'
import { idIn, ipIn, listIn, numberIn, objectIn, parseReply, textIn } from './reply-reader.ts'

const protocols = { unknown: 0, icmpv4: 1, igmp: 2, tcp: 6, udp: 17, icmpv6: 58, sctp: 132 }
const distributions = { none: 0, sourceipprotocol: 1, sourceip: 2 }
const balancerFlags = { none: 0, enabledirectserverreturn: 1, ipv6: 2 }
const portFlags = {
  none: 0,
  enableinternalloadbalancer: 1,
  localroutedvip: 2,
  notused: 4,
  usemux: 4,
  preservedip: 8,
  vipexternalip: 16,
}
const endpointFlags = {
  none: 0,
  remoteendpoint: 1,
  disableicc: 2,
  enablemirroring: 4,
  enablelowinterfacemetric: 8,
  overridednsserverorder: 16,
  enabledhcp: 32,
}
const degradedState = 4

/** Lower case, whatever HNS prefers. */
export function parseIds(text: string): readonly string[] {
  return listIn(parseReply(text === '' ? '[]' : text, 'a list of ids'), 'a list of ids').map((id) => idIn(id, 'an id'))
}

export function parseNetwork(text: string): HcnNetwork {
  const network = objectIn(parseReply(text, 'a network'), 'a network')
  const id = idIn(network['ID'], 'the id of a network')
  return {
    id,
    name: textIn(network['Name'], `the name of network ${id}`),
    // HNS leaves out what is zero, and NAT is.
    type: textIn(network['Type'], `the type of network ${id}`) || 'NAT',
    remoteSubnets: listIn(network['Policies'], `the policies of network ${id}`)
      .map((policy) => objectIn(policy, `a policy of network ${id}`))
      .filter((policy) => policy['Type'] === 'RemoteSubnetRoute')
      .map((policy) => parseRemoteSubnet(policy['Settings'], `a remote subnet of network ${id}`)),
  }
}

export function parseEndpoint(text: string): HcnEndpoint {
  const endpoint = objectIn(parseReply(text, 'an endpoint'), 'an endpoint')
  const id = idIn(endpoint['ID'], 'the id of an endpoint')
  const of = `endpoint ${id}`
  const flags = numberIn(endpoint['Flags'], `the flags of ${of}`, endpointFlags)
  return {
    id,
    name: textIn(endpoint['Name'], `the name of ${of}`),
    networkId: textIn(endpoint['HostComputeNetwork'], `the network of ${of}`).toLowerCase(),
    ips: listIn(endpoint['IpConfigurations'], `the addresses of ${of}`)
      .map((it) => ipIn(objectIn(it, `an address of ${of}`)['IpAddress'], `an address of ${of}`))
      .filter((ip) => ip !== undefined),
    mac: textIn(endpoint['MacAddress'], `the MAC address of ${of}`),
    isRemote: (flags & 1) !== 0,
    providerAddress: providerAddressIn(listIn(endpoint['Policies'], `the policies of ${of}`)),
  }
}

/** Other policies are as those who made them like. */
function providerAddressIn(policies: readonly unknown[]): string | undefined {
  for (const policy of policies) {
    const settings: unknown =
      isJsonObject(policy) && policy['Type'] === 'ProviderAddress' ? policy['Settings'] : undefined
    const address = isJsonObject(settings) ? settings['ProviderAddress'] : undefined
    if (typeof address === 'string') return parseIp(address)
  }
  return undefined
}

/** Returns nothing for one without a port mapping, which a create that failed may leave. */
export function parseLoadBalancer(text: string): LoadBalancer | undefined {
  const balancer = objectIn(parseReply(text, 'a load balancer'), 'a load balancer')
  const id = idIn(balancer['ID'], 'the id of a load balancer')
  const of = `load balancer ${id}`
  const [first] = listIn(balancer['PortMappings'], `the port mappings of ${of}`)
  if (first === undefined) return undefined
  const mapping = objectIn(first, `a port mapping of ${of}`)
  const [vip] = listIn(balancer['FrontendVIPs'], `the addresses of ${of}`)
  return {
    id,
    endpoints: listIn(balancer['HostComputeEndpoints'], `the endpoints of ${of}`).map((it) =>
      idIn(it, `an endpoint of ${of}`),
    ),
    sourceVip: ipIn(balancer['SourceVIP'], `the source address of ${of}`),
    vip: ipIn(vip, `the address of ${of}`),
    protocol: numberIn(mapping['Protocol'], `the protocol of ${of}`, protocols),
    internalPort: numberIn(mapping['InternalPort'], `the internal port of ${of}`),
    externalPort: numberIn(mapping['ExternalPort'], `the external port of ${of}`),
    isSticky: numberIn(mapping['DistributionType'], `the distribution of ${of}`, distributions) !== 0,
    mappingFlags: numberIn(mapping['Flags'], `the flags of a mapping of ${of}`, portFlags),
    flags: numberIn(balancer['Flags'], `the flags of ${of}`, balancerFlags),
  }
}

export function parseVersion(text: string): HnsVersion {
  const of = 'its version'
  const version = objectIn(parseOutput('HNSCall GET /globals/version', text), of)
  if (version['Major'] === undefined) throw new HcnError('unavailable', 'HNS does not say which version it is')
  return { major: numberIn(version['Major'], of), minor: numberIn(version['Minor'], of) }
}

/** What has no port in it is no load balancer, and left out. */
export function parsePolicyLists(text: string): readonly LoadBalancerSummary[] {
  const summaries: LoadBalancerSummary[] = []
  for (const item of listIn(parseOutput('HNSCall GET /policylists/', text), 'the policy lists')) {
    const list = objectIn(item, 'a policy list')
    const policies = listIn(list['Policies'], 'the policies of a list').map((it) => objectIn(it, 'a policy of a list'))
    const policy = policies.find(({ Type: type }) => type === undefined || type === 'ELB')
    if (policy !== undefined) summaries.push(summaryOf(list, policy))
  }
  return summaries
}

function summaryOf(list: JsonObject, policy: JsonObject): LoadBalancerSummary {
  const id = idIn(list['ID'], 'the id of a policy list')
  const of = `policy list ${id}`
  const [vip] = listIn(policy['VIPs'], `the addresses of ${of}`)
  return {
    id,
    endpoints: listIn(list['References'], `the references of ${of}`)
      .map((reference) => /^\/endpoints\/(.+)$/i.exec(textIn(reference, `a reference of ${of}`))?.[1]?.toLowerCase())
      .filter((it) => it !== undefined),
    vip: ipIn(vip, `the address of ${of}`),
    protocol: numberIn(policy['Protocol'], `the protocol of ${of}`, protocols),
    internalPort: numberIn(policy['InternalPort'], `the internal port of ${of}`),
    externalPort: numberIn(policy['ExternalPort'], `the external port of ${of}`),
    sourceVip: ipIn(policy['SourceVIP'], `the source address of ${of}`),
    isDsr: policy['IsDSR'] === true,
    isDegraded: numberIn(list['State'], `the state of ${of}`) === degradedState,
  }
}

function parseRemoteSubnet(value: unknown, of: string): RemoteSubnet {
  const settings = objectIn(value, of)
  return {
    prefix: textIn(settings['DestinationPrefix'], of),
    providerAddress: textIn(settings['ProviderAddress'], of),
    isolationId: numberIn(settings['IsolationId'], of),
    routerMac: textIn(settings['DistributedRouterMacAddress'], of),
  }
}

/** The old API wraps what it answers, and says inside whether it worked. */
function parseOutput(operation: string, text: string): unknown {
  const reply = objectIn(parseReply(text, operation), `the answer to ${operation}`)
  if (reply['Success'] === true) return reply['Output']
  const code = reply['ErrorCode']
  throw (
    failureOf(operation, typeof code === 'number' ? code : 0, text) ??
    new HcnError('unavailable', `${operation} failed without a reason`)
  )
}
