/** Settings of the kernel, and whether they can be changed here. */
import { isLoopback } from '../../../net/ip.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export interface SettingFacts {
  /** By path below /proc/sys; undefined: there is none. */
  value(path: string): string | undefined
  number(path: string): number | undefined
  /** The interfaces of the machine, for settings that each has. */
  readonly interfaces: readonly string[]
  /** The machine has an IPv6 address that others can reach. */
  readonly hasGlobalIpv6: boolean
  /** /proc/sys/net is mounted read-only, as in most containers. */
  readonly isReadOnly: boolean
  /** Of /proc/net/stat/nf_conntrack, over all CPUs; undefined where there is no such file. */
  readonly conntrackStats: Readonly<Record<string, number>> | undefined
}

const paths = [
  'net/ipv4/ip_forward',
  'net/ipv6/conf/all/forwarding',
  'net/ipv4/ip_local_port_range',
  'net/ipv4/ip_local_reserved_ports',
  'net/bridge/bridge-nf-call-iptables',
  'net/bridge/bridge-nf-call-ip6tables',
  'net/ipv4/conf/all/route_localnet',
  'net/ipv4/conf/all/rp_filter',
  'net/ipv4/conf/all/arp_ignore',
  'net/ipv4/conf/all/arp_announce',
  'net/ipv4/vs/conntrack',
  'net/ipv4/vs/expire_nodest_conn',
  'net/ipv4/vs/expire_quiescent_template',
  'net/ipv6/conf/all/disable_ipv6',
  ...[
    'nf_conntrack_max',
    'nf_conntrack_count',
    'nf_conntrack_tcp_timeout_established',
    'nf_conntrack_tcp_timeout_close_wait',
    'nf_conntrack_tcp_be_liberal',
    'nf_conntrack_udp_timeout',
    'nf_conntrack_udp_timeout_stream',
  ].map((name) => `net/netfilter/${name}`),
] as const

export async function readSettings(
  host: Pick<Host, 'sysctl' | 'readTextFile' | 'networkInterfaces' | 'localAddresses'>,
): Promise<SettingFacts> {
  const interfaces = Object.keys(host.networkInterfaces()).filter((name) => name !== 'lo')
  const all = [...paths, ...interfaces.map((name) => `net/ipv4/conf/${name.replaceAll('/', '.')}/rp_filter`)]
  const values = new Map(await Promise.all(all.map(async (path) => [path, await readOne(host, path)] as const)))
  // Where even this cannot be read, nothing that follows means anything.
  if (values.get('net/ipv4/ip_forward') === undefined)
    throw new CannotLook('/proc/sys/net/ipv4/ip_forward cannot be read', 'Mount /proc.')
  const mounts = await host.readTextFile('/proc/self/mounts').catch(() => '')
  const stats = await host.readTextFile('/proc/net/stat/nf_conntrack').catch(() => undefined)
  return {
    value: (path) => values.get(path),
    number: (path) => {
      const text = values.get(path)
      return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined
    },
    interfaces,
    hasGlobalIpv6: host.localAddresses().some((ip) => ip.includes(':') && !isLoopback(ip) && !/^fe[89ab]/.test(ip)),
    isReadOnly: isReadOnlyAt(mounts, '/proc/sys/net'),
    conntrackStats: stats === undefined ? undefined : parseConntrackStats(stats),
  }
}

async function readOne({ sysctl }: Pick<Host, 'sysctl'>, path: string): Promise<string | undefined> {
  return (await sysctl.read(path).catch(() => undefined))?.trim()
}

/** The last mount on the longest part of the path is the one that counts. */
export function isReadOnlyAt(mounts: string, path: string): boolean {
  let [best, isReadOnly] = ['', false]
  for (const line of mounts.split('\n')) {
    const [, point = '', , options = ''] = line.split(' ')
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    if (!isAbove || point.length < best.length) continue
    best = point
    isReadOnly = options.split(',').includes('ro')
  }
  return isReadOnly
}

/** A line of names, then one of hexadecimal numbers for each CPU. */
export function parseConntrackStats(text: string): Readonly<Record<string, number>> {
  const [header = '', ...lines] = text.split('\n').filter((line) => line.trim() !== '')
  const names = header.trim().split(/\s+/)
  const sums: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]))
  for (const line of lines)
    for (const [index, word] of line.trim().split(/\s+/).entries()) {
      const name = names[index]
      if (name !== undefined) sums[name] = (sums[name] ?? 0) + Number.parseInt(word, 16)
    }
  return sums
}
