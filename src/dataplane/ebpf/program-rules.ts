/** What is wrong with a question about a program, before the kernel is asked. */
import { BpfError } from './bpf-error.ts'
import type { AttachType, BpfMap } from './bpf.ts'
import type { ProgramImage } from './program-image.ts'

export function hookOf({ name, attachType }: ProgramImage): AttachType {
  if (attachType === 'iterator')
    throw new BpfError(
      'refused',
      `cannot attach the program "${name}": it is an iterator, which is run and not attached`,
    )
  return attachType
}

/** The maps that the program uses, by the names that it has for them. */
export function mapsOf(
  { name, mapLoads }: ProgramImage,
  maps: ReadonlyMap<string, BpfMap>,
): ReadonlyMap<string, BpfMap> {
  const used = new Map<string, BpfMap>()
  for (const { map: wanted } of mapLoads) {
    const map = maps.get(wanted)
    if (map === undefined)
      throw new BpfError('refused', `cannot load the program "${name}": it needs a map "${wanted}", and there is none`)
    used.set(wanted, map)
  }
  return used
}
