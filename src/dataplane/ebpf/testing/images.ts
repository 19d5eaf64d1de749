import type { AttachType } from '../bpf.ts'
import type { ProgramImage } from '../program-image.ts'
import { allow, loadMapAndAllow } from './object-builder.ts'

/** A program that lets everything pass. If it names a map, it loads the map's address first. */
export function passingProgram(name: string, attachType: AttachType | 'iterator', map?: string): ProgramImage {
  return {
    name,
    section: attachType === 'iterator' ? 'iter/bpf_sk_storage_map' : `cgroup/${attachType}`,
    attachType,
    license: 'Apache-2.0',
    instructions: map === undefined ? allow : loadMapAndAllow,
    mapLoads: map === undefined ? [] : [{ offset: 0, map }],
    sourceLines: [],
  }
}
