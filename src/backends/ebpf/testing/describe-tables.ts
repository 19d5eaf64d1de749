/** What the tables hold, as lines that do not depend on where it is. */
import { hostPort } from '../../../net/ip.ts'
import { addressText } from '../address-bytes.ts'
import { frontendId, listNames } from '../frontends-of.ts'
import type { FrontendId } from '../frontends-of.ts'
import {
  decodeConfig,
  decodeEndpoint,
  decodeFrontendKey,
  decodeFrontendTarget,
  decodeService,
  layout,
  readListWord,
  readSlotWord,
} from '../layout.ts'
import type { EndpointRecord, FrontendTarget } from '../layout.ts'
import { reserved } from '../sizes.ts'
import type { ModelMaps } from './hook-model.ts'

export interface DescribedFrontend {
  readonly key: Uint8Array
  readonly id: FrontendId | undefined
  readonly target: FrontendTarget | undefined
}

export function frontendsIn({ frontends }: ModelMaps): readonly DescribedFrontend[] {
  return Array.from(frontends.entriesByKey.values(), ([key, value]) => {
    const frontend = decodeFrontendKey(key)
    return { key, id: frontend && frontendId(frontend), target: decodeFrontendTarget(value, key) }
  })
}

/** Those that live. Number 0 means nobody, so whatever is written there leads nowhere. */
export function recordsIn({ endpoints }: ModelMaps): readonly (EndpointRecord & { readonly id: number })[] {
  const count = endpoints.bytes.length / layout.endpoint.size
  return Array.from({ length: count }, (_, id) => ({
    id,
    ...decodeEndpoint(endpoints.bytes, id * layout.endpoint.size),
  })).filter(({ id, generation }) => id >= reserved.endpoints && generation !== 0)
}

export function describeTables(maps: ModelMaps): readonly string[] {
  const records = recordsIn(maps)
  const frontends = frontendsIn(maps)
  const { hostNetns, udpIdle, flags } = decodeConfig(maps.config.bytes)
  return [
    `config: ${hostNetns} ${udpIdle} ${flags}`,
    ...Array.from(
      maps.node_addresses.entriesByKey.values(),
      ([key]) => `node address ${addressText(Buffer.from(key))}`,
    ),
    ...frontends.map(({ id, key, target }) =>
      target === undefined
        ? `frontend ${Buffer.from(key).toString('hex')} leads nowhere`
        : `frontend ${id} -> ${target.list} of ${serviceText(maps, target.service, records)}`,
    ),
    // Nobody but these may live.
    `${records.length} records`,
    ...records
      .filter(({ service }) => !frontends.some(({ target }) => target?.service === service))
      .map((record) => `a record that no frontend leads to: ${recordText(record)}`),
  ].sort()
}

function serviceText(maps: ModelMaps, index: number, records: readonly EndpointRecord[]): string {
  if (index * layout.service.size >= maps.services.bytes.length) return 'nothing'
  const service = decodeService(maps.services.bytes, index * layout.service.size)
  const lists = listNames.map((name) => `${name}: ${listText(maps, service[name])}`)
  const own = records.filter((record) => record.service === index).map(recordText)
  return [...lists, `affinity ${service.affinitySeconds}`, `turns ${service.roundRobin}`, ...own.sort()].join('; ')
}

function listText(maps: ModelMaps, word: bigint): string {
  const list = readListWord(word)
  if (list.kind !== 'endpoints') return list.kind
  const slots = Buffer.from(maps.slots.bytes)
  return Array.from({ length: list.count }, (_, place) => {
    const at = (list.base + place) * layout.slot.size
    if (at + layout.slot.size > slots.length) return 'nobody'
    const { endpoint, generation } = readSlotWord(slots.readBigUInt64LE(at))
    const offset = endpoint * layout.endpoint.size
    if (offset >= maps.endpoints.bytes.length) return 'nobody'
    const record = decodeEndpoint(maps.endpoints.bytes, offset)
    return record.generation === generation ? hostPort(record.ip, record.port) : 'nobody'
  }).join(' ')
}

function recordText({ ip, port, lists }: EndpointRecord): string {
  return `${hostPort(ip, port)} in ${lists}`
}
