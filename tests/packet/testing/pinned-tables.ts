/** The tables that an ebpf mode has pinned, as anybody with root may open them: to be read, and to be damaged. */
import { layoutVersion, mapSpecs } from '../../../src/backends/ebpf/layout.ts'
import type { MapName } from '../../../src/backends/ebpf/layout.ts'
import type { SocketMaps } from '../../../src/backends/ebpf/found-tables.ts'
import { listTables } from '../../../src/backends/ebpf/list-tables.ts'
import type { ListedFrontend } from '../../../src/backends/ebpf/list-tables.ts'
import type { BpfMap } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { families, hostPort } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { webPort } from './service-fixture.ts'
import type { ServiceFixture } from './service-fixture.ts'

export class PinnedTables implements Disposable {
  readonly maps: SocketMaps

  private constructor(maps: SocketMaps) {
    this.maps = maps
  }

  static async open(pins: string): Promise<PinnedTables> {
    const bpf = await openBpf()
    const maps: Partial<Record<MapName, BpfMap>> = {}
    for (const name of Object.keys(mapSpecs) as MapName[]) {
      const map = await bpf.openMap(`${pins}/${layoutVersion}/maps/${name}`)
      if (map === undefined) throw new Error(`nothing is pinned in ${pins}`)
      maps[name] = map
    }
    return new PinnedTables(maps as SocketMaps)
  }

  /**
   * How many connections to the web port of this Service the hooks have met so far. What they do not see, nftables serves
   * unnoticed.
   */
  async connectionsTo({ index }: ServiceFixture): Promise<number> {
    const places = families.map((family) => `${hostPort(plans[family].clusterIP(index), webPort.port)}/TCP`)
    const listed = (await this.list()).filter(({ at }) => places.includes(at))
    if (listed.length !== places.length) throw new Error(`the tables do not serve ${places.join(' and ')}`)
    return listed.reduce((sum, { connections, passed }) => sum + connections + passed, 0)
  }

  async list(): Promise<readonly ListedFrontend[]> {
    return (await listTables(this.maps)).frontends
  }

  [Symbol.dispose](): void {
    for (const map of Object.values(this.maps)) map[Symbol.dispose]()
  }
}
