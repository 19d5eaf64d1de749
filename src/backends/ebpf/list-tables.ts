/** The tables as lines for people: who asks for what, and gets whom. It needs no plan, so no running proxy. */
import { hostPort } from '../../net/ip.ts'
import { readTables } from './found-tables.ts'
import type { FoundTables, SocketMaps } from './found-tables.ts'
import { decodeServiceStats, layout, readListWord, readSlotWord } from './layout.ts'
import type { Frontend, FrontendTarget } from './layout.ts'

export interface ListedFrontend {
  /** `10.96.0.10:80/TCP`, `node-port:30080/TCP ipv4`, or with affinity `node-port:30080/TCP ipv4 on loopback`. */
  readonly at: string
  readonly list: 'internal' | 'external'
  /** Or `refuse`, `pass`. */
  readonly endpoints: readonly string[]
  readonly affinitySeconds: number
  readonly algorithm: 'random' | 'round-robin'
  readonly connections: number
  readonly refused: number
  readonly passed: number
}

export interface ListedTables {
  readonly frontends: readonly ListedFrontend[]
  /** Where hooks open node ports, besides loopback. */
  readonly nodePortAddresses: readonly string[]
}

/** Sorted. What the counters say is of the Service port: entrances of one share them. What leads nowhere serves nobody. */
export async function listTables(maps: SocketMaps): Promise<ListedTables> {
  const tables = await readTables(maps)
  // Maps that grow are pinned one after the other.
  const room = Math.min(maps.services.spec.maxEntries, maps.service_stats.spec.maxEntries)
  const listed = tables.frontends.flatMap(({ frontend, target }) =>
    target === undefined || target.service >= room ? [] : [listedFrontend(frontend, target, tables, maps)],
  )
  const { ipv4, ipv6 } = tables.nodeAddresses
  return {
    frontends: listed.sort((a, b) => (a.at < b.at ? -1 : 1)),
    nodePortAddresses: [...ipv4.toSorted(), ...ipv6.toSorted()],
  }
}

function listedFrontend(
  frontend: Frontend,
  { service: index, list }: FrontendTarget,
  tables: FoundTables,
  maps: SocketMaps,
): ListedFrontend {
  const service = tables.service(index)
  const { connections, refused, passed } = decodeServiceStats(
    maps.service_stats.bytes,
    index * layout.serviceStats.size,
  )
  return {
    at: `${placeOf(frontend)}${service.affinitySeconds > 0 ? ' on loopback' : ''}`,
    list,
    endpoints: endpointsOf(service[list], tables),
    affinitySeconds: service.affinitySeconds,
    algorithm: service.roundRobin ? 'round-robin' : 'random',
    connections,
    refused,
    passed,
  }
}

function placeOf(frontend: Frontend): string {
  return frontend.scope === 'address'
    ? `${hostPort(frontend.ip, frontend.port)}/${frontend.protocol}`
    : `node-port:${frontend.port}/${frontend.protocol} ${frontend.family}`
}

function endpointsOf(word: bigint, tables: FoundTables): readonly string[] {
  const list = readListWord(word)
  if (list.kind !== 'endpoints') return [list.kind]
  return Array.from({ length: list.count }, (_, index) => {
    const record = tables.recordsById.get(readSlotWord(tables.slot(list.base + index)).endpoint)
    return record === undefined ? '?' : hostPort(record.ip, record.port)
  })
}
