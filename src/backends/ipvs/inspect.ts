/** Compares what the kernel holds for one route with what was planned. */
import { inspectPieces, thereOrMissing } from '../../core/inspect-pieces.ts'
import type { Look } from '../../core/inspect-pieces.ts'
import type { InspectedPiece, Inspection } from '../../core/inspection.ts'
import { rulesLook } from '../../dataplane/iptables/language/rule-pieces.ts'
import type { Ipvs, ListedServer } from '../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../net/ip.ts'
import { ipvsLink } from './ipvs-link.ts'
import type { Kernel } from './kernel.ts'
import type { RoutePieces, ServerPieces } from './pieces.ts'
import { renderRealServer, renderServer } from './render.ts'
import { isSameServer } from './server-edit.ts'

export function inspectRoute(
  { servers, addresses, entries, rules }: RoutePieces,
  { ipvs, ipset, addresses: links, iptables }: Kernel,
  signal: AbortSignal,
): Promise<Inspection> {
  const looks: readonly Look[] = [
    ...servers.map((server) => serverLook(server, ipvs)),
    {
      pieces: addresses.map(({ piece }) => piece),
      async compare(comparing) {
        const held = new Set((await links.find(ipvsLink, comparing))?.ips)
        return addresses.map(({ ip, piece }) => thereOrMissing(piece, held.has(ip)))
      },
    },
    {
      pieces: entries.map(({ piece }) => piece),
      async compare(comparing) {
        const names = [...new Set(entries.map(({ set }) => set))]
        const held = new Map((await ipset.list(names, comparing)).map((set) => [set.name, set.entries]))
        return entries.map(({ set, entry, piece }) => thereOrMissing(piece, held.get(set)?.has(entry) === true))
      },
    },
    rulesLook(rules, iptables),
  ]
  return inspectPieces(looks, signal)
}

function serverLook(planned: ServerPieces, ipvs: Ipvs): Look {
  const { server, piece, realServers } = planned
  return {
    pieces: [piece, ...realServers.map((real) => real.piece)],
    async compare(signal) {
      const found = await ipvs.find(server, signal)
      if (found === undefined)
        return [thereOrMissing(piece, false), ...realServers.map((real) => thereOrMissing(real.piece, false))]
      const state = isSameServer(found, server)
        ? ({ state: 'as planned' } as const)
        : ({ state: 'differs', found: renderServer(found) } as const)
      return [{ ...piece, ...state }, ...compareRealServers(planned, found)]
    },
  }
}

function compareRealServers(
  { server, realServers }: ServerPieces,
  { realServers: listed }: ListedServer,
): readonly InspectedPiece[] {
  const weights = new Map(listed.map(({ ip, port, weight }) => [hostPort(ip, port), weight]))
  const compared = realServers.map(({ address, weight, piece }): InspectedPiece => {
    const found = weights.get(address)
    weights.delete(address)
    if (found === undefined || found === weight) return thereOrMissing(piece, found === weight)
    // One that an operator has set stays.
    return { ...piece, state: 'differs', found: renderRealServer(server, address, found) }
  })
  const strangers = Array.from(weights, ([address, weight]): InspectedPiece => ({
    kind: 'real server',
    where: `virtual server ${server.id}`,
    text: renderRealServer(server, address, weight),
    endpoint: address,
    state: 'not planned',
  }))
  return [...compared, ...strangers]
}
