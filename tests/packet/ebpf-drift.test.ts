/** What others do to the programs and tables of the ebpf mode: it is put back within seconds, and the log says what it was. */
import { rmSync } from 'node:fs'
import { test } from 'vitest'
import { frontendId } from '../../src/backends/ebpf/frontends-of.ts'
import { encodeFrontendKey, layout, layoutVersion, listWord } from '../../src/backends/ebpf/layout.ts'
import type { ListedFrontend } from '../../src/backends/ebpf/list-tables.ts'
import { readTables } from '../../src/backends/ebpf/found-tables.ts'
import { attachTypes } from '../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../src/dataplane/ebpf/open-bpf.ts'
import { plans } from './testing/address-plan.ts'
import { answerDeadlineMs } from './testing/answer-deadline.ts'
import type { EbpfPlace, EbpfProcess } from './testing/fairlead-ebpf.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { PinnedTables } from './testing/pinned-tables.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { serviceFaults } from './testing/service-faults.ts'
import { givenService } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const frontend = { scope: 'address', ip: plans.ipv4.clusterIP(web.index), port: 80, protocol: 'TCP' } as const
const soon = { timeout: 40_000, interval: 20 }
/** Within five seconds on a node that has time; other tests share this one. Without a look it would be an hour. */
const noticedWithinMs = answerDeadlineMs(3 * 5_000)

interface Damage {
  readonly what: string
  readonly found: string | RegExp
  make(tables: PinnedTables, place: EbpfPlace): unknown
}

const damages: readonly Damage[] = [
  {
    what: 'an address that leads nowhere any more',
    found: `${frontend.ip} tcp 80 was deleted in the map frontends`,
    make: ({ maps }) => maps.frontends.delete([encodeFrontendKey(frontend)]),
  },
  {
    what: 'a list that leads nowhere',
    found: /element \d+ of the map services was changed/,
    async make({ maps }) {
      const { frontends } = await readTables(maps)
      const index = frontends.find((one) => frontendId(one.frontend) === frontendId(frontend))?.target?.service
      if (index === undefined) throw new Error('nothing leads to the Service')
      const beyond = listWord({ kind: 'endpoints', base: maps.slots.spec.maxEntries - 1, count: 2 })
      await maps.services.store(index * layout.service.size + layout.service.internal, beyond)
    },
  },
  {
    what: 'an address of the node where node ports are closed',
    found: 'map node_addresses',
    make: async ({ maps }) => maps.node_addresses.delete([(await maps.node_addresses.entries())[0]![0]]),
  },
  {
    what: 'a detached program',
    found: 'somebody detached the program at sendmsg6',
    async make(_tables, place) {
      const bpf = await openBpf()
      using link = await bpf.openLink(linkAt(place, 'sendmsg6'))
      if (link === undefined) throw new Error('no link is pinned')
      await bpf.detach(link)
    },
  },
  {
    what: 'a pin that is gone',
    found: 'the pin of the program at connect4 is gone',
    make: (_tables, place) => rmSync(linkAt(place, 'connect4')),
  },
]

describeUnless(packetTestProblem(fairleadEbpf), 'what others do to the ebpf mode', () => {
  test.concurrent.for(damages)(
    '$what is noticed and repaired, and nobody is left unserved',
    async (damage, { expect }) => {
      // No sync would come by itself.
      await using rig = await Rig.startWith((cluster) => startEbpf(cluster, { syncPeriod: '1h' }), [web])
      const { place } = rig.proxy as EbpfProcess
      using tables = await PinnedTables.open(place.pins)
      const before = await stateOf(tables, place)
      expect(before.attached).toHaveLength(attachTypes.length)
      const damagedAt = Date.now()
      await damage.make(tables, place)
      expect(await stateOf(tables, place)).not.toEqual(before)
      expect(await rig.ask('caller', at('cluster IP', web), 'ipv4', 10_000)).toMatchObject({ kind: 'answer' })

      const said = () =>
        rig.proxy
          .log()
          .split('\n')
          .find((line) => line.includes('somebody else changed the rules'))
      await expect.poll(said, soon).toMatch(damage.found)
      const noticedAfterMs = writtenAt(said() ?? '') - damagedAt
      expect(noticedAfterMs).toBeGreaterThanOrEqual(-1)
      expect(noticedAfterMs).toBeLessThan(noticedWithinMs)
      await expect.poll(() => stateOf(tables, place), soon).toEqual(before)
      expect(await serviceFaults(rig, web)).toEqual([])
    },
  )
})

function linkAt({ pins }: EbpfPlace, hook: string): string {
  return `${pins}/${layoutVersion}/links/${hook}`
}

/** All that may be damaged; without what is counted. */
async function stateOf(tables: PinnedTables, { pins, cgroup }: EbpfPlace) {
  const bpf = await openBpf()
  const attached = await Promise.all(attachTypes.map((type) => bpf.attached(cgroup.path, type)))
  const { nodeAddresses } = await readTables(tables.maps)
  return {
    served: (await tables.list()).map(({ at: place, list, endpoints }: ListedFrontend) => [place, list, endpoints]),
    nodeAddresses: Object.values(nodeAddresses).flat().sort(),
    attached: attached.flat().map(({ name }) => name),
    pinned: await bpf.pinned(pins),
  }
}

/** `W1119 18:01:37.118759 …`, as klog has it. */
function writtenAt(line: string): number {
  const [, month, day, time] = /^.(\d\d)(\d\d) ([\d:.]+) /.exec(line) ?? []
  return Date.parse(`${new Date().getFullYear()}-${month}-${day}T${time?.slice(0, '00:00:00.000'.length)}`)
}
