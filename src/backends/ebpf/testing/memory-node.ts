/** A node in memory, with small tables: what its programs read, and what a process needs to program it. */
import { silentLogger } from '../../../core/logger.ts'
import type { Clock } from '../../../core/clock.ts'
import { MemoryBpf } from '../../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../../dataplane/ebpf/memory-kernel.ts'
import type { MapObject } from '../../../dataplane/ebpf/memory-kernel.ts'
import { attachTypes } from '../../../dataplane/ebpf/bpf.ts'
import type { AttachType, Bpf } from '../../../dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../../dataplane/ebpf/program-image.ts'
import { families } from '../../../net/ip.ts'
import { layoutVersion, mapSpecs } from '../layout.ts'
import type { MapName } from '../layout.ts'
import type { SocketSettings } from '../settings.ts'
import { SocketBalancer } from '../socket-balancer.ts'
import type { SocketBalancerOptions } from '../socket-balancer.ts'
import { mapNames } from '../tables.ts'
import type { MapSpecs } from '../sizes.ts'
import type { ModelMaps } from './hook-model.ts'

export const cgroup = '/cgroup'
const pins = '/bpf/fairlead'
export const folder = `${pins}/${layoutVersion}`

/** They use every map. */
const programs = attachTypes.map((attachType): ProgramImage => ({
  name: `fl_${attachType}`,
  section: `cgroup/${attachType}`,
  attachType,
  license: 'Apache-2.0',
  instructions: new Uint8Array(8),
  mapLoads: mapNames.map((map) => ({ offset: 0, map })),
  sourceLines: [],
}))

export const testSettings: SocketSettings = {
  hostNetns: 1n,
  scope: 'all',
  tcp: true,
  udpSend: true,
  udpConnect: 'all',
  loopbackNodePorts: true,
  peerNames: true,
  entersPods: true,
  endsTcp: false,
  leaseMs: 300_000,
  udpIdleMs: 30_000,
}

/** Fast to read, and soon full. */
export const smallSpecs = specsOfSize({ frontends: 64, services: 32, slots: 256, endpoints: 128 })

export function specsOfSize(
  sizes: Readonly<Record<'frontends' | 'services' | 'slots' | 'endpoints', number>>,
): MapSpecs {
  const maxEntries: Partial<Record<MapName, number>> = {
    ...sizes,
    service_stats: sizes.services,
    affinity: sizes.services,
    endpoint_stats: sizes.endpoints,
    stale: 9,
  }
  return Object.fromEntries(
    mapNames.map((name) => [name, { ...mapSpecs[name], maxEntries: maxEntries[name] ?? mapSpecs[name].maxEntries }]),
  ) as Record<MapName, MapSpecs[MapName]>
}

export class MemoryNode {
  readonly kernel = new MemoryKernel({ bpffs: '/bpf', cgroups: [cgroup] })
  #process: MemoryBpf | undefined
  #owner = 0n

  /** Of a new process; the one before is gone. */
  newBalancer(
    clock: Clock,
    { door = (bpf) => bpf, ...options }: Partial<SocketBalancerOptions> & { door?: (bpf: Bpf) => Bpf } = {},
  ): SocketBalancer {
    this.#process?.[Symbol.dispose]()
    this.#process = new MemoryBpf(this.kernel)
    return new SocketBalancer({
      bpf: door(this.#process),
      families,
      pins,
      cgroup,
      programs,
      digest: new Uint8Array(20).fill(7),
      settings: testSettings,
      specs: smallSpecs,
      owner: ++this.#owner,
      kernelNow: () => BigInt(Math.round(clock.monotonic() * 1e6)),
      clock,
      log: silentLogger,
      ...options,
    })
  }

  /** What the program there reads. Undefined: none of ours is there. */
  mapsAt(attachType: AttachType): ModelMaps | undefined {
    const [program] = this.kernel.running(cgroup, attachType)
    return program && (Object.fromEntries(program.mapsByName) as Record<MapName, MapObject>)
  }
}
