/** In the kernel modes the rules do the work: one Fairlead takes over from another, and nothing changes. */
import { expect, test, vi } from 'vitest'
import { plans } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { EbpfProcess, fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { Load } from './testing/load.ts'
import { PinnedTables } from './testing/pinned-tables.ts'
import { describeEach, fairleads } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'
import { endsByItself, Probes, processOf, takesOver, watchWrites, whileItStarts } from './testing/upgrade.ts'

const echoPort = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo } as const
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1', 'there-1'] })
const changedWeb: ServiceFixture = { ...web, endpoints: ['here-3', 'there-2'] }
const local = givenService('local', 2, {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  endpoints: ['here-2', 'there-2'],
})

describeEach([...fairleads, fairleadEbpf], (proxy) => {
  test('a new Fairlead takes over: no connection and no health check fails, and no rule is written', async () => {
    await using rig = await Rig.start(proxy, {}, [web, local])
    const { cluster } = rig
    const first = processOf(rig)
    const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
    using conversation = await Conversation.start(openTcp(cluster.host('caller'), echo))
    using tables = first instanceof EbpfProcess ? await PinnedTables.open(first.place.pins) : undefined
    await using load = new Load(rig, flowsTo(web))
    await using probes = new Probes(rig, local)
    await expect.poll(() => Math.min(load.connections, probes.count), whileItStarts).toBeGreaterThan(20)
    await using writes = await watchWrites(cluster, proxy.name)
    await using second = first.second(['--take-over'])
    await takesOver(first, second)
    await endsByItself(first)
    // Back again, or to the next: the roles are exchanged.
    await using third = second.second(['--take-over'])
    await takesOver(second, third)
    expect(second.isRunning, 'whoever supervises it would start it again').toBe(true)
    await second.stop('SIGTERM')
    const answered = load.connections
    await expect.poll(() => load.connections, whileItStarts).toBeGreaterThan(answered + 20)
    await conversation.goesOn()
    expect(writes.seen()).toEqual([])
    const owner = new Rig(cluster, third)
    await owner.program([changedWeb, local])
    await load.stop()
    expect(load.failures).toEqual([])
    // Where the hooks miss one, nftables serves it.
    const caught = load.connectionsFrom('caller')
    expect((await tables?.connectionsTo(web)) ?? caught).toBe(caught)
    expect(await serviceFaults(owner, changedWeb)).toEqual([])
    expect(probes.failures, `${first.log()}\n${second.log()}\n${third.log()}`).toEqual([])
  })

  test('a second Fairlead by mistake says so, waits, and begins when the first has ended', async () => {
    await using rig = await Rig.start(proxy, {}, [web])
    await using load = new Load(rig, flowsTo(web))
    const first = processOf(rig)
    await using second = first.second([])
    second.run()
    await vi.waitFor(() => expect(second.log()).toContain('another proxy runs on this node'), whileItStarts)
    expect(second.log()).toContain(`pid=${first.pid}`)
    expect(second.log()).toContain(`mode="${proxy.mode}"`)
    await first.stop('SIGTERM')
    const owner = new Rig(rig.cluster, second)
    await owner.program([changedWeb])
    expect(await serviceFaults(owner, changedWeb)).toEqual([])
    await load.stop()
    expect(load.failures).toEqual([])
  })

  test('a Fairlead that is killed while it takes over changes nothing, and one that hands over is not missed', async () => {
    await using rig = await Rig.start(proxy, {}, [web])
    const first = processOf(rig)
    await using load = new Load(rig, flowsTo(web))
    {
      await using second = first.second(['--take-over'])
      second.run()
      await vi.waitFor(() => expect(first.log()).toContain('handing over to another proxy'), whileItStarts)
      await second.stop('SIGKILL')
    }
    await vi.waitFor(() => expect(first.log()).toMatch(/this one goes on|serves in the place/), whileItStarts)
    await using third = first.second(['--take-over'])
    third.run()
    await vi.waitFor(() => expect(third.log()).toContain('taking over from the proxy'), whileItStarts)
    await first.stop('SIGKILL')
    const owner = new Rig(rig.cluster, third)
    await owner.program([changedWeb])
    expect(await serviceFaults(owner, changedWeb)).toEqual([])
    await load.stop()
    expect(load.failures).toEqual([])
  })
})
