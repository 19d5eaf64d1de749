/** What others may do to the programs and their tables. */
import fc from 'fast-check'
import { layout } from '../layout.ts'
import type { MapName } from '../layout.ts'
import { MemoryBpf } from '../../../dataplane/ebpf/memory-bpf.ts'
import { mapNames } from '../tables.ts'
import { attachTypes } from '../../../dataplane/ebpf/bpf.ts'
import { folder } from './memory-node.ts'
import type { MemoryNode } from './memory-node.ts'

const kinds = [
  'a program is detached',
  'the pin of a link is gone',
  'the pin of a map is gone',
  'a frontend is gone',
  'a frontend leads elsewhere',
  'a frontend too much',
  'a key that means nothing',
  'a node address too much',
  'an array is overwritten',
  'other settings',
] as const

export interface SocketDamage {
  readonly kind: (typeof kinds)[number]
  readonly which: number
  readonly value: number
}

export const anySocketDamage: fc.Arbitrary<SocketDamage> = fc.record({
  kind: fc.constantFrom(...kinds),
  which: fc.nat(1000),
  value: fc.nat(255),
})

export async function damageSockets(node: MemoryNode, { kind, which, value }: SocketDamage): Promise<void> {
  using bpf = new MemoryBpf(node.kernel)
  const attachType = pick(attachTypes, which)
  const mapAt = async (name: MapName) => bpf.openMap(`${folder}/maps/${name}`)
  const frontends = await mapAt('frontends')
  const entries = (await frontends?.entries()) ?? []
  const [key, target] = entries[which % entries.length] ?? []
  switch (kind) {
    case 'a program is detached': {
      const link = await bpf.openLink(`${folder}/links/${attachType}`)
      return link && bpf.detach(link)
    }
    case 'the pin of a link is gone':
      return bpf.unpin(`${folder}/links/${attachType}`)
    case 'the pin of a map is gone':
      return bpf.unpin(`${folder}/maps/${pick(mapNames, which)}`)
    case 'a frontend is gone':
      return key && frontends?.delete([key])
    case 'a frontend leads elsewhere':
      if (key === undefined || target === undefined) return
      return frontends?.update([[key, target.map((byte, at) => (at === value % 8 ? byte ^ (1 + (value >> 3)) : byte))]])
    case 'a frontend too much':
      if (key === undefined || target === undefined) return
      return frontends?.update([[key.map((byte, at) => (at === 17 ? byte ^ (1 + value) : byte)), target]])
    case 'a key that means nothing':
      return frontends?.update([[new Uint8Array(20).fill(value | 128), new Uint8Array(8)]])
    case 'a node address too much':
      return (await mapAt('node_addresses'))?.update([[new Uint8Array(16).fill(value), new Uint8Array(4)]])
    case 'an array is overwritten': {
      const map = await mapAt(pick(['services', 'slots', 'endpoints'] as const, value))
      if (map === undefined) return
      const used = map.bytes.findLastIndex((byte) => byte !== 0) + 1
      return map.fill((which * 7) % Math.max(1, used), Uint8Array.of(value))
    }
    case 'other settings':
      return (await mapAt('config'))?.fill(layout.config.flags, Uint8Array.of(value))
    default:
      return kind satisfies never
  }
}

function pick<T>(from: readonly T[], which: number): T {
  return from[which % from.length] as T
}
