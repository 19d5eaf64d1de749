/** What of a kernel in memory belongs to no route, and damage to one piece of it. */
import type { PlannedPiece } from '../../../core/inspection.ts'
import { spoilRule, unexplainedRules } from '../../../dataplane/iptables/testing/explained-rules.ts'
import { serverKey } from '../../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../../net/ip.ts'
import { ipvsLink } from '../ipvs-link.ts'
import { renderLinkAddress, renderRealServer, renderServer } from '../render.ts'
import { ipvsChains } from '../top-chains.ts'
import type { MemoryKernel } from './memory-kernel.ts'

const never = new AbortController().signal

export async function unexplainedIn(kernel: MemoryKernel, pieces: readonly PlannedPiece[]): Promise<readonly string[]> {
  const explained = new Set(pieces.map(({ where, text }) => `${where}: ${text}`))
  return [
    ...(await contentsOf(kernel)).filter((line) => !explained.has(line)),
    ...(await unexplainedRules(kernel.iptables, pieces, (chain, rule) => chain !== ipvsChains.out || rule === '')),
  ]
}

async function contentsOf({ ipvs, ipset, addresses, setNames }: MemoryKernel): Promise<readonly string[]> {
  const servers = await ipvs.list(never)
  return [
    ...servers.flatMap((server) => [
      `IPVS: ${renderServer(server)}`,
      ...server.realServers.map(
        ({ ip, port, weight }) =>
          `virtual server ${serverKey(server)}: ${renderRealServer(server, hostPort(ip, port), weight)}`,
      ),
    ]),
    ...(await ipset.list(setNames, never)).flatMap(({ name, entries }) =>
      Array.from(entries, (entry) => `set ${name}: add ${name} ${entry}`),
    ),
    ...(await addresses.list(never)).flatMap(({ link, ip }) =>
      link === ipvsLink ? [`link ${ipvsLink}: ${renderLinkAddress(ip)}`] : [],
    ),
  ]
}

export async function spoilPiece(kernel: MemoryKernel, piece: PlannedPiece): Promise<boolean> {
  const { ipvs, ipset, addresses, iptables } = kernel
  const { kind, where, text, endpoint } = piece
  const servers = await ipvs.list(never)
  switch (kind) {
    case 'virtual server': {
      const server = servers.find((it) => renderServer(it) === text)
      if (server !== undefined)
        // No Service can ask for this one.
        await ipvs.apply([{ kind: 'edit-server', server: { ...server, scheduler: 'fo' } }], never)
      return server !== undefined
    }
    case 'real server':
    case 'draining real server': {
      const server = servers.find((it) => `virtual server ${serverKey(it)}` === where)
      const realServer = server?.realServers.find(({ ip, port }) => hostPort(ip, port) === endpoint)
      if (server === undefined || realServer === undefined) return false
      await ipvs.apply([{ kind: 'delete-real-server', server, realServer }], never)
      return true
    }
    case 'entry': {
      const [, set = '', entry = ''] = text.split(' ')
      await ipset.apply([{ kind: 'delete', set, entry }], never)
      return true
    }
    case 'address':
      await addresses.remove(ipvsLink, [/ add (\S+)\//.exec(text)?.[1] ?? ''], never)
      return true
    default:
      return spoilRule(iptables, piece)
  }
}
