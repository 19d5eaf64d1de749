/** The door, of which each call counts. Maps are doors of their own. */
import type { Bpf, BpfMap } from '../../../dataplane/ebpf/bpf.ts'
import type { DoorCalls } from '../../testing/door-calls.ts'

export const changesOfMap = ['update', 'delete', 'fill', 'store'] as const
export const changesOfKernel = ['createMap', 'attach', 'replace', 'detach', 'pin', 'unpin'] as const

export function countedDoor(calls: DoorCalls, bpf: Bpf): Bpf {
  const door = calls.through('bpf', bpf)
  const counted = <M extends BpfMap | undefined>(map: M) =>
    map &&
    calls.through(`map ${map.spec.name}`, map, ['entries', 'packedEntries', 'packedPart', 'lookup', ...changesOfMap])
  return new Proxy(door, {
    get(target, property, receiver) {
      if (property === 'createMap')
        return async (...args: Parameters<Bpf['createMap']>) => counted(await door.createMap(...args))
      if (property === 'openMap')
        return async (...args: Parameters<Bpf['openMap']>) => counted(await door.openMap(...args))
      return Reflect.get(target, property, receiver) as unknown
    },
  })
}
