/** The share of a new endpoint, step by step, as the kernel has it. */
import { expect, test } from 'vitest'
import { plans } from './testing/address-plan.ts'
import { EbpfProcess, fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadNftables } from './testing/fairlead.ts'
import { PinnedTables } from './testing/pinned-tables.ts'
import { describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'
import { chiSquare, tallyAnswers } from './testing/tally.ts'

const web = givenService('web', 1, { endpoints: ['here-1'], annotations: { 'fairlead.dev/slow-start': '4s' } })

describeEach([fairleadNftables, fairleadEbpf], (proxy) => {
  test('grows by a tenth of its weight ten times, and is that of the others in the end', async () => {
    await using rig = await Rig.start(proxy, {}, [web])
    const programming = rig.program([{ ...web, endpoints: ['here-1', 'here-2'] }])
    const seen: number[] = []
    const clusterIP = plans.ipv4.clusterIP(web.index)
    /** Who has each slot of the table, or of the list that sockets choose from. */
    const inTable = () => {
      const map = rig.cluster.node.run('nft', ['list', 'map', 'ip', 'fairlead', 'endpoints'])
      return map.split(`${clusterIP} . tcp . 80 . `).flatMap((part) => /: (\S+) \./.exec(part)?.[1] ?? [])
    }
    const atSockets = async ({ place }: EbpfProcess) => {
      using tables = await PinnedTables.open(place.pins)
      const served = (await tables.list()).find(({ at: place }) => place === `${clusterIP}:80/TCP`)
      return (served?.endpoints ?? []).map((endpoint) => endpoint.replace(/:\d+$/, ''))
    }
    const slots = () => (rig.proxy instanceof EbpfProcess ? atSockets(rig.proxy) : inTable())
    const deadline = performance.now() + 60_000
    // Its weight in tenths, from what the others have in the same list.
    for (let tenths = 0; tenths < 10;) {
      expect(performance.now()).toBeLessThan(deadline)
      const all = await slots()
      const [old = 0, young = 0] = (['here-1', 'here-2'] as const).map(
        (pod) => all.filter((ip) => ip === plans.ipv4.hosts[pod]).length,
      )
      tenths = (10 * young) / old
      if (young > 0 && seen.at(-1) !== tenths) seen.push(tenths)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await programming
    expect(seen).toEqual(seen.toSorted((left, right) => left - right))
    expect(seen.every((tenths) => Number.isInteger(tenths))).toBe(true)
    expect(seen[0]).toBeLessThanOrEqual(3)
    expect(seen.length).toBeGreaterThanOrEqual(5)
    const counts = await tallyAnswers(rig, 'caller', at('cluster IP', web), 'ipv4', 200)
    expect(chiSquare([...counts.values()])).toBeLessThan(24)
  })
})
