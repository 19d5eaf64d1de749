/** What is special about the ebpf mode: what sockets see, and what becomes of programs and pins. */
import { readdirSync, renameSync } from 'node:fs'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { decodeConfig, layout, layoutVersion } from '../../src/backends/ebpf/layout.ts'
import type { BpfMap } from '../../src/dataplane/ebpf/bpf.ts'
import { attachTypes } from '../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../src/dataplane/ebpf/open-bpf.ts'
import { families, hostPort } from '../../src/net/ip.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { ClientSocket } from '../ebpf/testing/client-socket.ts'
import { plans } from './testing/address-plan.ts'
import { ask, openTcp } from './testing/ask.ts'
import { Cluster } from './testing/cluster.ts'
import { EbpfPlace, EbpfProcess, fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadProgram } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import type { HttpAnswer } from './testing/fetch-from.ts'
import { limitedTo } from './testing/limited-to.ts'
import { Load } from './testing/load.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { PinnedTables } from './testing/pinned-tables.ts'
import { proxyFlags } from './testing/proxy-flags.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'
import { UdpTalker } from './testing/udp-talker.ts'
import { endsByItself, processOf } from './testing/upgrade.ts'
import { withoutMounts } from './testing/without-mounts.ts'

const everyone = ['here-1', 'here-2', 'there-1'] as const
const web = givenService('web', 1, { type: 'NodePort', endpoints: everyone })
const nobody = givenService('nobody', 2, { type: 'NodePort' })
const sticky = givenService('sticky', 3, { type: 'NodePort', affinitySeconds: 10_800, endpoints: everyone })
const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const dns = givenService('dns', 4, { ports: [webPort, dnsPort], endpoints: ['here-1'] })
const elsewhere = givenService('elsewhere', 5, {
  type: 'LoadBalancer',
  internalTrafficPolicy: 'Local',
  externalTrafficPolicy: 'Local',
  endpoints: ['there-1'],
})
const inTurn = givenService('in-turn', 6, {
  endpoints: everyone,
  annotations: { 'fairlead.dev/algorithm': 'round-robin' },
})
const holdServiceAddresses = `table ip hold {
  chain forward {
    type filter hook forward priority 0
    ip daddr ${plans.ipv4.serviceRange} counter drop
  }
}`
const soon = { timeout: 40_000, interval: 50 }

describeUnless(packetTestProblem(fairleadEbpf), 'the ebpf mode', () => {
  const start = (services: readonly ServiceFixture[], ...flags: readonly string[]) =>
    Rig.startWith((cluster) => startEbpf(cluster, {}, flags), services)

  test('a socket shows the Service as its peer, and its packets the endpoint', async () => {
    await using rig = await start([web])
    for (const family of families) {
      const to = addressOf(at('cluster IP', web), family)
      const socket = openTcp(rig.cluster.host('caller'), to)
      await once(socket, 'connect')
      expect(socket.remoteAddress).toBe(to.ip)
      expect(socket.remotePort).toBe(to.port)
      // The connection table does not know that it is one to the Service: a number would be wrong, so there is none.
      expect(await metricsOf(rig)).not.toMatch(/^fairlead_(service|endpoint)_open_connections{.*service="web"/m)
      socket.destroy()
    }
    const tracked = rig.cluster.node.run('sh', ['-c', 'conntrack -L 2>/dev/null || true'])
    expect(tracked).not.toContain(`dst=${plans.ipv4.clusterIP(web.index)} `)
  })

  test('without peer names a socket shows the endpoint of a TCP connection, and the Service that datagrams are for', async () => {
    await using rig = await start([{ ...dns, endpoints: ['here-2'] }], '--ebpf-peer-names=false')
    for (const family of families)
      for (const from of ['caller', 'node'] as const) {
        const { namespace } = rig.whoIs(from, at('cluster IP', dns), family)
        const placeAt = ({ ip, port }: { readonly ip: string; readonly port: number }) => hostPort(ip, port)
        const service = (port: PortFixture) => placeAt(addressOf(at('cluster IP', dns, port), family))
        using stream = ClientSocket.tcp(namespace, family)
        expect(stream.connect(service(webPort))).toBe('ok')
        expect(stream.peer).toBe(placeAt({ ip: plans[family].hosts['here-2'], port: webPort.target }))
        using datagrams = ClientSocket.udp(namespace, family)
        expect([datagrams.connect(service(dnsPort)), datagrams.peer]).toEqual(['ok', service(dnsPort)])
      }
  })

  test('node ports answer on loopback for the node, and a pod keeps its own loopback', async () => {
    await using rig = await start([web])
    const { port } = addressOf(at('node port', web), 'ipv4')
    const from = (where: 'node' | 'caller', ip: string) =>
      ask(where === 'node' ? rig.cluster.node : rig.cluster.host('caller'), {
        transport: 'tcp',
        ip,
        port,
        patienceMs: 5000,
      })
    for (const ip of ['127.0.0.1', '127.5.5.5', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1'])
      expect([ip, await from('node', ip)]).toMatchObject([ip, { kind: 'answer' }])
    for (const ip of ['127.0.0.1', '::1']) expect([ip, await from('caller', ip)]).toEqual([ip, { kind: 'refused' }])
    // A source on loopback cannot leave it: nftables decides, and node ports are not open there.
    const bound = { transport: 'tcp', ip: '127.0.0.1', source: '127.0.0.1', port, patienceMs: 5000 } as const
    expect(await ask(rig.cluster.node, bound)).toEqual({ kind: 'refused' })
  })

  test('without endpoints a connection is refused; where others have some, it is dropped or takes the short cut; all is counted', async () => {
    await using rig = await start([nobody, elsewhere])
    for (const family of families) {
      for (const door of ['cluster IP', 'node port'] as const)
        expect(await rig.ask('caller', at(door, nobody), family, 10_000)).toEqual({ kind: 'refused' })
      expect(await rig.ask('caller', at('cluster IP', elsewhere), family, 1500)).toEqual({ kind: 'silence' })
      for (const door of ['VIP', 'node port'] as const)
        expect(await rig.ask('caller', at(door, elsewhere), family, 10_000)).toMatchObject({
          kind: 'answer',
          answer: { answeredBy: 'there-1', sawSource: plans[family].hosts.caller },
        })
    }
    const metrics = (await metricsOf(rig))
      .split('\n')
      .filter((line) => /^fairlead_(socket_choices|ebpf_map.*services|ebpf.*count)/.test(line))
    const results = ['translated', 'refused'].flatMap((result) =>
      // Two connections in each family.
      ['IPv4', 'IPv6'].map((family) => `fairlead_socket_choices_total{result="${result}",ip_family="${family}"} 2`),
    )
    expect(metrics).toEqual(
      expect.arrayContaining([
        ...results,
        'fairlead_ebpf_map_entries{map="services"} 4',
        'fairlead_ebpf_map_capacity{map="services"} 32767',
        expect.stringContaining('fairlead_ebpf_sync_duration_seconds_count{ip_family="IPv4"}'),
      ]),
    )
  })

  test('a cluster IP that the node gets is left to it, until it goes, without a change of any object', async () => {
    await using rig = await start([web])
    const ip = plans.ipv4.clusterIP(web.index)
    const asked = () => rig.ask('node', at('cluster IP', web), 'ipv4', 2000)
    const sockets = () => printedSockets(rig)
    expect(sockets()).toContain(hostPort(ip, 80))
    rig.cluster.node.ip(`address add ${ip}/32 dev lo`)
    await expect.poll(sockets, soon).not.toContain(hostPort(ip, 80))
    await expect.poll(() => rig.proxy.log(), soon).toContain(`the cluster IP ${ip} is an address of this node now`)
    rig.cluster.node.ip(`address del ${ip}/32 dev lo`)
    await expect.poll(sockets, soon).toContain(hostPort(ip, 80))
    expect(await asked()).toMatchObject({ kind: 'answer' })
  })

  test('a client keeps the endpoint of a connection that began before this node knew the Service', async () => {
    await using rig = await start([web])
    const { node } = rig.cluster
    // Nobody answers at addresses that no Service has: the first packet of a connection is lost, and sent again.
    node.run('nft', ['-f', '-'], { input: holdServiceAddresses })
    const lost = () => Number(/counter packets (\d+)/.exec(node.run('nft', ['list', 'table', 'ip', 'hold']))?.[1])
    // One would be served by chance as it should one time in five.
    const early = [11, 12, 13, 14, 15, 16].map((index) =>
      givenService(`early-${index}`, index, { affinitySeconds: 10_800, endpoints: [...everyone, 'here-3', 'there-2'] }),
    )
    const first = Promise.all(early.map((service) => whoAnswers(rig, 'caller', service)))
    await expect.poll(lost, soon).toBeGreaterThanOrEqual(early.length)
    await rig.program([web, ...early])
    const chosen = await first
    for (let n = 0; n < 10; n++)
      expect(await Promise.all(early.map((service) => whoAnswers(rig, 'caller', service)))).toEqual(chosen)
  })

  test('affinity is kept on loopback for all processes of the node together', async () => {
    await using rig = await start([sticky])
    const { ip: nodeIp, port } = addressOf(at('node port', sticky), 'ipv4')
    const whoAnswersOn = async (ip: string) => {
      const outcome = await ask(rig.cluster.node, { transport: 'tcp', ip, port, patienceMs: 10_000 })
      return outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind
    }
    const before = await whoAnswersOn('127.0.0.1')
    for (let n = 0; n < 12; n++) expect(await whoAnswersOn(n % 2 === 0 ? '127.5.5.5' : '127.0.0.1')).toBe(before)
    expect(printedSockets(rig)).toMatch(
      /node-port:30030\/TCP ipv4 on loopback external connections=13 affinity=10800s ->/,
    )
    const [addresses = ''] = printedSockets(rig).split('\n')
    expect(addresses).toMatch(/^node-port addresses: /)
    expect(addresses.split(' ').slice(2)).toContain(nodeIp)
    await rig.program([{ ...sticky, endpoints: everyone.filter((pod) => pod !== before) }])
    expect(await whoAnswersOn('127.0.0.1')).not.toBe(before)
  })

  test('endpoints take turns if the Service wants it', async () => {
    await using rig = await start([inTurn])
    const answers: string[] = []
    for (let n = 0; n < 9; n++) answers.push(await whoAnswers(rig, 'caller', inTurn))
    for (const pod of everyone) expect(answers.filter((who) => who === pod)).toHaveLength(3)
  })

  test('a UDP socket moves on when its endpoint goes', async () => {
    await using rig = await start([dns])
    using talker = new UdpTalker(rig.cluster.host('caller'), plans.ipv4.clusterIP(dns.index), 53)
    await expect.poll(() => talker.ask(), soon).toBe('here-1')
    await rig.program([{ ...dns, endpoints: ['here-2'] }])
    await expect.poll(() => talker.ask(), soon).toBe('here-2')
  })

  test('no connection fails, or is missed by the hooks, while the process is killed, replaced and restarted', async () => {
    await using rig = await start([web])
    using tables = await PinnedTables.open((rig.proxy as EbpfProcess).place.pins)
    await using load = new Load(rig, flowsTo(web))
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await rig.proxy.stop(signal)
      const answered = load.connections
      await expect.poll(() => load.connections, soon).toBeGreaterThan(answered + 10)
      rig.proxy.run()
      await rig.program([web])
    }
    await load.stop()
    expect(load.failures).toEqual([])
    expect(await tables.connectionsTo(web)).toBe(load.connectionsFrom('caller'))
    expect(await serviceFaults(rig, web)).toEqual([])
  })

  test('a process that finds another owner of the tables writes no more, and ends with a sentence', async () => {
    await using rig = await start([web])
    using config = await configOf(rig)
    await config.store(layout.config.owner, 5n)
    const tables = () => printedSockets(rig).replaceAll(/connections=\d+/g, '')
    const before = tables()
    const proxy = processOf(rig)
    await proxy.apply([...clusterObjects, ...objectsOf({ ...web, endpoints: ['here-3'] })])
    await endsByItself(proxy)
    expect(tables()).toBe(before)
    const [last = '', ...earlier] = proxy.log().trimEnd().split('\n').reverse()
    expect(last).toMatch(/"command failed" err="another Fairlead has taken over the sockets of this node[^"]*"$/)
    expect(earlier.filter((line) => /^\s+at |another Fairlead has taken over/.test(line))).toEqual([])
  })

  test('a successor that dies after it has written the tables leaves them to the one before it, which goes on', async () => {
    await using rig = await start([web])
    await using load = new Load(rig, flowsTo(web))
    const first = processOf(rig)
    using config = await configOf(rig)
    const owner = () => decodeConfig(config.bytes).owner
    const before = owner()
    {
      await using second = first.second(['--take-over'])
      second.run()
      await expect.poll(() => owner() !== before, { timeout: 40_000, interval: 1 }).toBe(true)
      await second.stop('SIGKILL')
    }
    await expect.poll(() => first.log(), soon).toContain('the proxy that was taking over has ended: this one goes on')
    await expect.poll(owner, soon).toBe(before)
    const changed = { ...web, endpoints: ['here-3'] } as const
    await rig.program([changed])
    expect(await serviceFaults(rig, changed)).toEqual([])
    expect(await attachedTo((rig.proxy as EbpfProcess).place.cgroup.path)).toHaveLength(8)
    await load.stop()
    expect(load.failures).toEqual([])
  })

  test('a version whose tables are laid out differently takes over; no connection fails, or is missed by the hooks', async () => {
    await using rig = await start([web])
    const { place } = rig.proxy as EbpfProcess
    using before = await PinnedTables.open(place.pins)
    await using load = new Load(rig, flowsTo(web))
    const socket = openTcp(rig.cluster.host('caller'), addressOf(at('cluster IP', web), 'ipv4'))
    await once(socket, 'connect')
    await rig.proxy.stop('SIGKILL')
    // As one of another layout would have left them.
    renameSync(`${place.pins}/${layoutVersion}`, `${place.pins}/63`)
    const answered = load.connections
    await expect.poll(() => load.connections, soon).toBeGreaterThan(answered + 10)
    rig.proxy.run()
    const changed = { ...web, endpoints: ['here-3', 'there-2'] } as const
    await rig.program([changed])
    await load.stop()
    expect(load.failures).toEqual([])
    using after = await PinnedTables.open(place.pins)
    // And the socket that was opened.
    const counted = (await before.connectionsTo(web)) + (await after.connectionsTo(web)) - 1
    expect(counted).toBe(load.connectionsFrom('caller'))
    expect(await serviceFaults(rig, changed)).toEqual([])
    expect(readdirSync(place.pins)).toEqual([String(layoutVersion)])
    expect(await attachedTo(place.cgroup.path)).toHaveLength(8)
    expect(socket.remoteAddress).toBe(plans.ipv4.clusterIP(web.index))
    socket.destroy()
  })

  test('with the scope of the host, pods are left to nftables', async () => {
    await using rig = await start([web], '--ebpf-scope=host')
    expect(rig.proxy.log()).toContain('pods are left to nftables: --ebpf-scope=host')
    expect(await peerOf(rig, 'caller')).toBe(plans.ipv4.clusterIP(web.index))
    const [before, after] = [countOf(rig), await askedBy(rig, 'caller')]
    expect([after, countOf(rig)]).toEqual(['answer', before])
    await askedBy(rig, 'node')
    expect(countOf(rig)).toBe(before + 1)
  })

  test('nftables serves once the lease is over, and the hooks again when it is renewed', async () => {
    await using rig = await start([web])
    await askedBy(rig, 'caller')
    const before = countOf(rig)
    await rig.proxy.stop('SIGKILL')
    expect([await askedBy(rig, 'caller'), countOf(rig)]).toEqual(['answer', before + 1])
    {
      using config = await configOf(rig)
      await config.store(layout.config.leaseUntil, 1n)
    }
    expect([await askedBy(rig, 'caller'), countOf(rig)]).toEqual(['answer', before + 1])
    rig.proxy.run()
    await rig.program([web])
    const again = countOf(rig)
    expect([await askedBy(rig, 'caller'), countOf(rig)]).toEqual(['answer', again + 1])
  })

  test('--cleanup leaves nothing attached or pinned of its own node, and so does another mode', async () => {
    await using rig = await start([web])
    const { place } = rig.proxy as EbpfProcess
    expect(await attachedTo(place.cgroup.path)).toHaveLength(8)
    await rig.proxy.stop('SIGKILL')
    const flags = [`--ebpf-pins=${place.pins}`]
    const elsewhereFlags = [fairleadProgram, '--cleanup', '--only-own-tables', ...flags]
    const left = rig.cluster.host('caller').run(process.execPath, elsewhereFlags)
    expect(left).toContain('belong to another network namespace')
    expect(await attachedTo(place.cgroup.path)).toHaveLength(8)
    const removed = rig.cluster.node.run(process.execPath, [fairleadProgram, '--cleanup', ...flags])
    expect(removed).toContain('links/connect4')
    expect(await attachedTo(place.cgroup.path)).toEqual([])
    expect(readdirSync(place.pins.replace(/\/fairlead$/, ''))).not.toContain('fairlead')

    rig.proxy.run()
    await rig.program([web])
    await using load = new Load(rig, flowsTo(web))
    const other = (rig.proxy as EbpfProcess).second(['--proxy-mode=nftables', '--take-over'])
    await using _other = other
    other.run()
    await expect.poll(() => attachedTo(place.cgroup.path), soon).toEqual([])
    await load.stop()
    expect(load.failures).toEqual([])
    expect(await serviceFaults(rig, web)).toEqual([])
  })

  const needs = ['NET_ADMIN', 'BPF', 'PERFMON'] as const

  test('it needs three capabilities; connected UDP of pods is left to nftables then', async () => {
    await using rig = await Rig.startWith((cluster) => startEbpf(cluster, {}, [], limitedTo(needs)), [web])
    expect(rig.proxy.log()).toContain('connected UDP of pods is left to nftables: CAP_SYS_ADMIN is missing')
    expect(await serviceFaults(rig, web)).toEqual([])
  })

  test.each(needs)('without CAP_%s it says so and ends', async (missing) => {
    using cluster = new Cluster()
    const rest = needs.filter((name) => name !== missing)
    await using proxy = await startEbpf(cluster, {}, [], limitedTo(rest))
    await proxy.apply([...clusterObjects, ...objectsOf(web)])
    await expect.poll(() => proxy.log(), soon).toMatch(new RegExp(`"command failed".*CAP_${missing}`))
  })

  const nowhere = '--ebpf-pins=/run/fairlead-test-nowhere/pins'
  const noBpffs =
    "the ebpf mode cannot run here: cannot pin programs and maps in /run/fairlead-test-nowhere/pins: /run is not in a BPF file system; mount one on the node (mount -t bpf bpf /run/fairlead-test-nowhere), and in a container the node's, with mountPropagation HostToContainer; or give a folder in one with --ebpf-pins"

  test('without a BPF file system it says what to mount, and ends', async () => {
    using cluster = new Cluster()
    await using proxy = await startEbpf(cluster, {}, [nowhere])
    await proxy.apply([...clusterObjects, ...objectsOf(web)])
    await endsByItself(proxy)
    expect(proxy.log()).toContain('"command failed"')
    expect(proxy.log()).toContain(noBpffs)
    expect(cluster.node.run('nft', ['list', 'tables'])).toBe('')
  })

  test('with --ebpf-fallback it says so, too, and runs the nftables mode', async () => {
    await using rig = await start([web], nowhere, '--ebpf-fallback=nftables')
    expect(rig.proxy.log()).toContain('running the nftables mode instead of the ebpf mode, as --ebpf-fallback allows')
    expect(rig.proxy.log()).toContain(noBpffs)
    expect(await serviceFaults(rig, web)).toEqual([])
  })

  test('in a container without mounts of the node it says which to make, one after the other', async () => {
    using cluster = new Cluster()
    const place = new EbpfPlace()
    cluster.useCgroup(place.cgroup)
    const folder = await TemporaryFolder.make()
    const starter = [...withoutMounts, ...limitedTo(needs)]
    await using first = new EbpfProcess(cluster, proxyFlags('ebpf', {}), folder, place, starter)
    await first.apply([...clusterObjects, ...objectsOf(web)])
    await endsByItself(first)
    expect(first.log()).toContain(
      "/sys/fs/cgroup: it is the cgroup of this container, without pods in it; mount the host's /sys/fs/cgroup into the container",
    )
    await using second = first.second(['--ebpf-cgroup=/sys/fs/cgroup'])
    second.run()
    await endsByItself(second)
    expect(second.log()).toContain(
      "there is no BPF file system, nor can it be mounted (EPERM); mount one on the node (mount -t bpf bpf /sys/fs/bpf), and in a container the node's, with mountPropagation HostToContainer",
    )
  })

  async function metricsOf(rig: Rig): Promise<string> {
    const answer = (await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics', 10_000)) as HttpAnswer
    return answer.body
  }

  async function whoAnswers(rig: Rig, from: 'caller' | 'here-3' | 'node', service: ServiceFixture): Promise<string> {
    const outcome = await rig.ask(from, at('cluster IP', service), 'ipv4', 10_000)
    return outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind
  }

  async function askedBy(rig: Rig, from: 'caller' | 'node'): Promise<string> {
    return (await rig.ask(from, at('cluster IP', web), 'ipv4', 10_000)).kind
  }

  async function peerOf(rig: Rig, from: 'caller'): Promise<string | undefined> {
    const socket = openTcp(rig.cluster.host(from), addressOf(at('cluster IP', web), 'ipv4'))
    await once(socket, 'connect')
    const { remoteAddress } = socket
    socket.destroy()
    return remoteAddress
  }

  /** What the programs are told besides the tables. */
  async function configOf(rig: Rig): Promise<BpfMap> {
    const { pins } = (rig.proxy as EbpfProcess).place
    const config = await (await openBpf()).openMap(`${pins}/${layoutVersion}/maps/config`)
    if (config === undefined) throw new Error('nothing is pinned')
    return config
  }

  /** What the hooks have connected to the Service so far. */
  function countOf(rig: Rig): number {
    const line = printedSockets(rig)
      .split('\n')
      .find((text) => text.includes(hostPort(plans.ipv4.clusterIP(web.index), 80)))
    return Number(/connections=(\d+)/.exec(line ?? '')?.[1] ?? Number.NaN)
  }

  function printedSockets(rig: Rig): string {
    const { pins } = (rig.proxy as EbpfProcess).place
    return rig.cluster.node.run(process.execPath, [fairleadProgram, 'sockets', `--ebpf-pins=${pins}`])
  }

  /** The hooks that programs of ours are at. */
  async function attachedTo(cgroup: string): Promise<readonly string[]> {
    const bpf = await openBpf()
    const names = await Promise.all(attachTypes.map((type) => bpf.attached(cgroup, type)))
    return names.flat().flatMap(({ name }) => (name?.startsWith('fl_') === true ? [name] : []))
  }
})
