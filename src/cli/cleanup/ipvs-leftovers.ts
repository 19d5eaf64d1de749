/** What the ipvs mode of kube-proxy left behind. Pure: it reads what the tools printed. */
import { isProxySet } from './ipset-names.ts'
import type { Findings, NamedLeftover, VirtualServerLeftover, VirtualServerProtocol } from './leftover.ts'

/** The dummy device that holds the addresses of all Services. */
export const ipvsInterface = 'kube-ipvs0'

export interface IpvsState {
  /** Undefined when there is none. */
  readonly device: IpvsDevice | undefined
  readonly sets: readonly IpSet[]
  /** As `ipvsadm --save --numeric` prints them. */
  readonly virtualServers: string
}

export interface IpvsDevice {
  /** `dummy`, if it is kube-proxy's. */
  readonly kind: string
  readonly addresses: readonly string[]
}

export interface IpSet {
  readonly name: string
  readonly entries: readonly string[]
}

/** `foreignRules`: what stays in iptables. A set that one of these asks for must stay too. */
export function ipvsLeftovers(state: IpvsState, foreignRules: readonly string[]): Findings {
  const { device, sets } = state
  const problems: string[] = []
  const leftovers: NamedLeftover[] = []
  if (device?.kind === 'dummy')
    leftovers.push({ kind: 'interface', name: ipvsInterface, reason: 'holds the addresses of Services in ipvs mode' })
  else if (device !== undefined)
    problems.push(
      `interface ${ipvsInterface} stays: it is not a dummy link but of kind "${device.kind}", so no proxy created it`,
    )
  for (const { name } of sets) {
    const user = foreignRules.find((rule) => rule.includes(` ${name} `))
    if (user === undefined) leftovers.push({ kind: 'ipset', name, reason: 'of the ipvs mode' })
    else problems.push(`ipset ${name} stays because a foreign rule uses it: "${user}"`)
  }
  return { leftovers: [...virtualServerLeftovers(state), ...leftovers], problems }
}

/** The sets of `ipset save` that are a proxy's, with their entries. */
export function parseProxySets(saved: string): readonly IpSet[] {
  const entriesByName = new Map<string, string[]>()
  const lines = saved.split('\n')
  for (const line of lines) {
    const [command, name = '', type = ''] = line.split(' ')
    if (command === 'create' && isProxySet(name, type)) entriesByName.set(name, [])
  }
  for (const line of lines) {
    const [command, name = '', entry = ''] = line.split(' ')
    if (command === 'add') entriesByName.get(name)?.push(entry)
  }
  return Array.from(entriesByName, ([name, entries]) => ({ name, entries }))
}

/** Reads `ip -json -details address show dev kube-ipvs0`. */
export function parseDevice(printed: string): IpvsDevice {
  interface Shown {
    readonly linkinfo?: { readonly info_kind?: string }
    readonly addr_info?: readonly { readonly local?: string }[]
  }
  const [shown] = JSON.parse(printed) as readonly Shown[]
  return {
    kind: shown?.linkinfo?.info_kind ?? 'unknown',
    addresses: (shown?.addr_info ?? []).flatMap(({ local }) => local ?? []),
  }
}

/**
 * Others may use IPVS on the same node. A virtual server is kube-proxy's when its address is on the dummy device, or
 * when a set names it: node ports, and addresses that another interface has, are not on the device.
 */
function virtualServerLeftovers({ device, sets, virtualServers }: IpvsState): readonly VirtualServerLeftover[] {
  const serviceIps = new Set([
    ...(device?.kind === 'dummy' ? device.addresses : []),
    ...sets.flatMap(({ name, entries }) => (name.endsWith('-IPVS-IPS') ? entries : [])),
  ])
  const named = new Set(sets.flatMap(({ name, entries }) => entries.map((entry) => namedServer(name, entry))))
  const reasonOf = ({ protocol, ip, port }: ParsedServer) => {
    if (serviceIps.has(ip)) return `${ip} is an address of a Service on ${ipvsInterface}`
    if (named.has(`${ip},${protocol}:${port}`)) return 'an ipset of the ipvs mode names it'
    return named.has(`${protocol}:${port}`) ? `${port} is a node port of the ipvs mode` : undefined
  }
  return parseVirtualServers(virtualServers).flatMap((server) => {
    const reason = reasonOf(server)
    const { protocol, address } = server
    return reason === undefined ? [] : [{ kind: 'virtual-server', protocol, address, reason }]
  })
}

/** Entries with an address are unique as they are; those of the node port sets need their protocol. */
function namedServer(set: string, entry: string): string {
  const protocol = /NODE-PORT(?:-LOCAL)?-(TCP|UDP)$/.exec(set)?.[1]
  return protocol === undefined ? entry : `${protocol.toLowerCase()}:${entry}`
}

interface ParsedServer {
  readonly protocol: VirtualServerProtocol
  readonly address: string
  readonly ip: string
  readonly port: string
}

const protocols: Readonly<Record<string, VirtualServerProtocol>> = {
  '-t': 'tcp',
  '-u': 'udp',
  '--sctp-service': 'sctp',
}

/** Services by firewall mark (-f) are never a proxy's. */
function parseVirtualServers(saved: string): readonly ParsedServer[] {
  return saved.split('\n').flatMap((line) => {
    const [command, flag = '', address = ''] = line.split(' ')
    const protocol = protocols[flag]
    if (command !== '-A' || protocol === undefined) return []
    const colon = address.lastIndexOf(':')
    const ip = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
    return [{ protocol, address, ip, port: address.slice(colon + 1) }]
  })
}
