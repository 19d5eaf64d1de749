/** Where a client ends up: past the rules to an address that is local, and from there to the real servers behind it. */
import { endingsOf } from '../../../dataplane/iptables/testing/walk-packet.ts'
import type { Packet, ParsedRules } from '../../../dataplane/iptables/testing/walk-packet.ts'
import type { ListedSet } from '../../../dataplane/ipset/ipset.ts'
import { serverKey } from '../../../dataplane/ipvs/ipvs.ts'
import { cidrContains, hostPort, parseCidr } from '../../../net/ip.ts'
import type { Client, Reach } from '../../testing/clients.ts'
import type { MemoryKernel } from './memory-kernel.ts'

const never = new AbortController().signal

export async function lookAt(kernel: MemoryKernel, rules: ParsedRules): Promise<(client: Client) => Reach> {
  const tables = rules.of(await kernel.iptables.saveAll(never))
  const localIps = new Set((await kernel.addresses.list(never)).map(({ ip }) => ip))
  const serversByKey = new Map((await kernel.ipvs.list(never)).map((server) => [serverKey(server), server]))
  const setsByName = new Map((await kernel.ipset.list(kernel.setNames, never)).map((set) => [set.name, set]))
  const surroundings = {
    isLocal: (ip: string) => localIps.has(ip),
    isInSet: (name: string, _ends: string, packet: Packet) => isInSet(setsByName.get(name), packet),
  }
  return ({ source, ip, port, protocol }) => {
    const endings = endingsOf(tables, surroundings, { source, destination: ip, port, protocol })
    const arrives = localIps.has(ip) && endings.every(({ outcome }) => outcome === 'arrives')
    const { realServers = [] } = (arrives && serversByKey.get(serverKey({ ip, port, protocol }))) || {}
    return realServers
      .filter(({ weight }) => weight > 0)
      .map((server) => hostPort(server.ip, server.port))
      .sort()
  }
}

function isInSet(set: ListedSet | undefined, { source, destination, port, protocol }: Packet): boolean {
  if (set === undefined) throw new Error('a rule asks a set that does not exist')
  const service = `${destination},${protocol.toLowerCase()}:${port}`
  switch (set.type) {
    case 'bitmap:port':
      return set.entries.has(String(port))
    case 'hash:ip':
      return set.entries.has(destination)
    case 'hash:ip,port':
      return set.entries.has(service)
    case 'hash:ip,port,ip':
      return set.entries.has(`${service},${source}`)
    case 'hash:ip,port,net':
      return [...set.entries].some((entry) => {
        const [ip = '', target = '', net = ''] = entry.split(',')
        const cidr = parseCidr(net)
        return `${ip},${target}` === service && (cidr === undefined ? net === source : cidrContains(cidr, source))
      })
    default:
      throw new Error(`the set ${set.name} has the type ${set.type}, which tests do not know`)
  }
}
