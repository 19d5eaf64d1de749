/** The backend of the ebpf mode on the real kernel, without anybody for packets: what it writes is what sockets get. */
import { createSocket } from 'node:dgram'
import type { RemoteInfo, Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, rmdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { EbpfBackend } from '../../src/backends/ebpf/ebpf-backend.ts'
import { decodeConfig, layoutVersion, mapSpecs } from '../../src/backends/ebpf/layout.ts'
import type { MapName } from '../../src/backends/ebpf/layout.ts'
import { SocketBalancer } from '../../src/backends/ebpf/socket-balancer.ts'
import type { SocketBalancerOptions } from '../../src/backends/ebpf/socket-balancer.ts'
import { builtObject, missingForObject } from '../../src/backends/ebpf/testing/built-object.ts'
import { testSettings } from '../../src/backends/ebpf/testing/memory-node.ts'
import { noPackets } from '../../src/backends/ebpf/testing/no-packets.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import type { Route } from '../../src/core/route.ts'
import { addressPlans, viewOf } from '../../src/core/testing/random-cluster.ts'
import { testEndpoint, testRoute, withWishes } from '../../src/core/testing/routes.ts'
import type { AttachType } from '../../src/dataplane/ebpf/bpf.ts'
import { KernelSite, missingForBpf } from '../../src/dataplane/ebpf/testing/kernel-site.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { JoinedCgroup } from './testing/joined-cgroup.ts'
import { programsHere } from './testing/programs-here.ts'

const problem = missingForObject === '' ? await missingForBpf() : `not found: ${missingForObject}`
const never = new AbortController().signal
const serviceIp = '10.96.0.1'

describeUnless(problem, 'the socket balancer on this kernel', () => {
  const places = open()
  afterAll(async () => (await places).close())

  test('a client reaches the endpoints of the moment, and is refused without any', async () => {
    const { node, servers, refuse } = await start('moment')
    const [one, two] = servers
    await node.sync(web([one, two]))
    const reached = await Promise.all(Array.from({ length: 64 }, () => ask()))
    expect(new Set(reached)).toEqual(new Set([String(one.port), String(two.port)]))
    await node.sync(web([two]))
    expect(new Set(await Promise.all(Array.from({ length: 32 }, () => ask())))).toEqual(new Set([String(two.port)]))
    await node.sync(web([]))
    // Before Linux 5.18 that is left to packets, and here is nobody for those.
    const outcome = refuse ? await ask() : 'left to packets'
    expect(outcome).toBe(refuse ? 'ECONNREFUSED' : 'left to packets')
    const traffic = await node.backend.traffic(never)
    const turnedAway = refuse ? { turnedAway: { 'no-endpoint': 1 } } : {}
    expect(traffic.get(web([]).key)).toMatchObject({ connections: 96, ...turnedAway })
    expect(await node.backend.compare(never)).toEqual({ kind: 'as written' })
  })

  test('changes, restarts and larger tables under load: every client is served', async () => {
    const { node, servers } = await start('load', () => ({ specs: tinySpecs }))
    const [one, two] = servers
    await node.sync(web([one, two]))
    const answers: string[] = []
    const isOver = new AbortController()
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver.signal.aborted) answers.push(await ask())
    })
    for (let round = 0; round < 100; round++) {
      await node.sync(web(round % 2 === 0 ? [one] : [two]))
      if (round % 20 === 19) await node.restart()
      const more = Array.from({ length: round }, (_, number) => other(number))
      await node.sync(web([one, two]), ...more)
      await new Promise((resolve) => setImmediate(resolve))
    }
    isOver.abort()
    await Promise.all(clients)
    expect(answers.filter((answer) => answer !== String(one.port) && answer !== String(two.port))).toEqual([])
    expect(answers.length).toBeGreaterThan(100)
    expect(node.balancer.usage?.capacities.services).toBeGreaterThan(tinySize)
    const [traffic] = (await node.backend.traffic(never)).values()
    // What is counted while the counters are copied into larger maps is lost, and a busy machine takes longer for that.
    expect(traffic?.connections).toBeGreaterThan(0.9 * answers.length)
    expect(traffic?.connections).toBeLessThanOrEqual(answers.length)
  })

  test('a new process goes on with what was counted, and puts its own programs into the links', async () => {
    const { node, servers } = await start('restart')
    await node.sync(web([servers[0]]))
    for (let n = 0; n < 3; n++) expect(await ask()).toBe(String(servers[0].port))
    const before = await programsAt('connect4')
    await node.restart()
    await node.sync(web([servers[0]]))
    expect(await ask()).toBe(String(servers[0].port))
    const [traffic] = (await node.backend.traffic(never)).values()
    expect(traffic).toMatchObject({ connections: 4 })
    expect([...(traffic?.endpoints?.values() ?? [])]).toEqual([{ connections: 4 }])
    const after = await programsAt('connect4')
    expect([before.length, after.length]).toEqual([1, 1])
    expect(after[0]?.id).not.toBe(before[0]?.id)
  })

  test('datagrams of a socket stay with their endpoint over a restart', async () => {
    const { node } = await start('datagrams')
    await using talkers = await UdpPeers.open(6)
    const dns = talkers.route()
    await node.sync(dns)
    const chosen = await talkers.ask()
    await node.restart()
    await node.sync(dns)
    // A socket that chose anew would get the same one time in six.
    for (let n = 0; n < 10; n++) expect(await talkers.ask()).toEqual(chosen)
    expect(chosen.from).toBe(`${serviceIp}:53`)
  })

  test('a cgroup that is removed and made again gets its programs again', async () => {
    const { site } = await places
    const cgroup = site.makeCgroup('comes and goes')
    const { node, servers } = await start('removed cgroup', () => ({ cgroup }))
    await node.sync(web([servers[0]]))
    expect(await site.bpf.attached(cgroup, 'connect6')).toHaveLength(1)
    rmdirSync(cgroup)
    try {
      const gone = expect.stringMatching(/^the cgroup .* is gone$|^somebody detached/) as unknown
      expect(await node.backend.compare(never)).toMatchObject({ kind: 'differs', found: gone })
      await expect(node.sync(web([servers[0]]))).rejects.toThrow('there is no such folder')
    } finally {
      mkdirSync(cgroup)
    }
    await node.sync(web([servers[0]]))
    expect(await node.backend.compare(never)).toEqual({ kind: 'as written' })
    expect(await site.bpf.attached(cgroup, 'connect6')).toHaveLength(1)
  })

  test('tables of a new layout come beside the old ones under load: every client is served, and the old ones go', async () => {
    let layoutNumber = 1
    const { node, servers, pins } = await start('layouts', () => ({ layoutNumber }))
    const [one, two] = servers
    const { bpf } = (await places).site
    await node.sync(web([one]))
    const old = await talk()
    const generation = await nextGeneration(pins, layoutNumber)
    const isOver = new AbortController()
    const answers: string[] = []
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver.signal.aborted) answers.push(await ask())
    })
    for (const next of [2, 3, 1]) {
      const asked = answers.length
      layoutNumber = next
      await node.restart()
      await node.sync(web([two]))
      expect([...new Set((await bpf.pinned(pins)).map((path) => path.split('/')[0]))]).toEqual([String(next)])
      expect(await programsAt('connect4')).toHaveLength(1)
      expect(await ask()).toBe(String(two.port))
      await expect.poll(() => answers.length, { timeout: 20_000 }).toBeGreaterThan(asked + 20)
    }
    isOver.abort()
    await Promise.all(clients)
    expect(answers.filter((answer) => answer !== String(one.port) && answer !== String(two.port))).toEqual([])
    // What a socket remembers outlives the tables, and names none of their endpoints.
    expect(peerOf(old)).toBe(`${serviceIp}:80`)
    old.destroy()
    expect(await nextGeneration(pins, layoutNumber)).toBeGreaterThan(generation)
  })

  test('a process stops writing when tables of another layout have come beside its own', async () => {
    const { node, servers, pins } = await start('first of two layouts', () => ({ layoutNumber: 1 }))
    const [one, two] = servers
    await node.sync(web([one]))
    const later = node.beside({ layoutNumber: 2 })
    await later.sync(web([two]))
    await expect(node.sync(web([one]))).rejects.toThrow('another Fairlead has taken over')
    expect(await ask()).toBe(String(two.port))
    expect((await (await places).site.bpf.pinned(pins)).every((path) => path.startsWith('2/'))).toBe(true)
    await later.balancer[Symbol.asyncDispose]()
  })

  test('a detached program, a lost pin and a changed entry are found, and a full sync repairs them', async () => {
    const { node, servers, pins } = await start('damage')
    const { bpf } = (await places).site
    await node.sync(web([servers[0]]))
    const damages: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['somebody detached the program at connect4', async () => bpf.detach(await linkAt('connect4'))],
      ['the pin of the program at connect6 is gone', () => bpf.unpin(`${pins}/${layoutVersion}/links/connect6`)],
      ['the pin of the map slots is gone', () => bpf.unpin(`${pins}/${layoutVersion}/maps/slots`)],
      [
        '10.96.0.1 tcp 80 was deleted in the map frontends',
        async () => {
          using map = await bpf.openMap(`${pins}/${layoutVersion}/maps/frontends`)
          await map?.delete((await map.entries()).map(([key]) => key))
        },
      ],
    ]
    const linkAt = async (attachType: string) => {
      const link = await bpf.openLink(`${pins}/${layoutVersion}/links/${attachType}`)
      if (link === undefined) throw new Error(`${attachType} is not pinned`)
      return link
    }
    for (const [found, damage] of damages) {
      await damage()
      expect(await node.backend.compare(never)).toEqual({ kind: 'differs', found })
      await node.sync(web([servers[0]]))
      expect(await node.backend.compare(never)).toEqual({ kind: 'as written' })
      expect(await ask()).toBe(String(servers[0].port))
    }
  })

  async function nextGeneration(pins: string, layoutNumber: number): Promise<number> {
    using config = await (await places).site.bpf.openMap(`${pins}/${layoutNumber}/maps/config`)
    return decodeConfig(config?.bytes ?? Buffer.alloc(64)).nextGeneration
  }

  async function programsAt(attachType: AttachType) {
    const { site, cgroup } = await places
    return site.bpf.attached(cgroup, attachType)
  }

  async function start(name: string, options: () => Partial<SocketBalancerOptions> = () => ({})) {
    const { site, cgroup, object } = await places
    const pins = join(site.bpffs, name)
    const { hooks: programs, refuse } = await programsHere(site.bpf, object)
    const node = new Node(() => ({
      bpf: site.bpf,
      families: ['ipv4'],
      pins,
      cgroup,
      programs,
      digest: new Uint8Array(20),
      settings: testSettings,
      owner: BigInt(Math.floor(Math.random() * 2 ** 48)),
      kernelNow: () => process.hrtime.bigint(),
      clock: systemClock,
      log: silentLogger,
      ...options(),
    }))
    // The kernel detaches what was unpinned a moment later.
    await expect.poll(() => programsAt('connect4')).toEqual([])
    const servers = [await listen(), await listen()] as const
    onTestFinished(async () => {
      await node.balancer[Symbol.asyncDispose]()
      await site.bpf.unpin(pins)
      for (const { server } of servers) server.close()
    })
    return { node, pins, servers, refuse }
  }
})

async function open() {
  const site = await KernelSite.open()
  const cgroup = site.makeCgroup('balancer')
  const joined = new JoinedCgroup(cgroup, dirname(cgroup))
  return {
    site,
    cgroup,
    object: await builtObject(),
    close: () => {
      joined[Symbol.dispose]()
      site[Symbol.dispose]()
    },
  }
}

const tinySize = 4
const tiny: readonly MapName[] = ['frontends', 'services', 'service_stats', 'slots', 'endpoints', 'endpoint_stats']
const tinySpecs = Object.fromEntries(
  Object.entries(mapSpecs).map(([name, spec]) => [
    name,
    tiny.includes(name as MapName) ? { ...spec, maxEntries: tinySize } : spec,
  ]),
) as unknown as NonNullable<SocketBalancerOptions['specs']>

class Node {
  readonly #options: () => SocketBalancerOptions
  balancer: SocketBalancer
  backend: EbpfBackend
  #routes = new Map<Route['key'], Route>()

  constructor(options: () => SocketBalancerOptions) {
    this.#options = options
    this.balancer = new SocketBalancer(options())
    this.backend = this.#newBackend()
  }

  async restart(): Promise<void> {
    await this.balancer[Symbol.asyncDispose]()
    this.balancer = new SocketBalancer(this.#options())
    this.backend = this.#newBackend()
  }

  /** Another process. */
  beside(options: Partial<SocketBalancerOptions>): Node {
    return new Node(() => ({ ...this.#options(), ...options }))
  }

  async sync(...routes: readonly Route[]): Promise<void> {
    const keys = [...new Set([...this.#routes.keys(), ...routes.map(({ key }) => key)])]
    this.#routes = new Map(routes.map((route) => [route.key, route]))
    const full = (await this.backend.compare(never)).kind !== 'as written'
    await this.backend.sync(viewOf(addressPlans.ipv4, this.#routes, []), { full, keys, causes: [] }, never)
  }

  #newBackend(): EbpfBackend {
    const node = () => ({ ownIps: new Set<string>(), nodePortIps: new Set<string>() })
    return new EbpfBackend({
      family: 'ipv4',
      balancer: this.balancer,
      packets: noPackets,
      node,
      clock: systemClock,
      log: silentLogger,
    })
  }
}

/** Servers that tell their port, and one client that does not connect. */
class UdpPeers implements AsyncDisposable {
  readonly #servers: readonly UdpSocket[]
  readonly #client: UdpSocket

  private constructor(servers: readonly UdpSocket[], client: UdpSocket) {
    this.#servers = servers
    this.#client = client
  }

  static async open(count: number): Promise<UdpPeers> {
    const bound = async (ip: string) => {
      const socket = createSocket('udp4').bind(0, ip)
      await once(socket, 'listening')
      return socket
    }
    const servers = await Promise.all(Array.from({ length: count }, () => bound('127.0.0.1')))
    for (const server of servers)
      server.on('message', (_data, { port, address }) => server.send(String(server.address().port), port, address))
    return new UdpPeers(servers, await bound('0.0.0.0'))
  }

  route(): Route {
    const endpoints = this.#servers.map((server) => testEndpoint('127.0.0.1', server.address().port))
    return testRoute('shop/dns', { clusterIP: serviceIp, port: 53, protocol: 'UDP', endpoints })
  }

  async ask(): Promise<{ readonly answer: string; readonly from: string }> {
    const answered = once(this.#client, 'message')
    this.#client.send('hello', 53, serviceIp)
    const [data, { address, port }] = (await answered) as [Buffer, RemoteInfo]
    return { answer: data.toString(), from: `${address}:${port}` }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of [...this.#servers, this.#client]) socket.close()
  }
}

interface Place {
  readonly server: Server
  readonly port: number
}

function web(places: readonly Place[]): Route {
  const endpoints = places.map(({ port }) => testEndpoint('127.0.0.1', port))
  return withWishes(webRoute, { endpoints })
}

const webRoute = testRoute('shop/web', { clusterIP: serviceIp, port: 80 })

function other(number: number): Route {
  const endpoints = [testEndpoint('10.77.9.9', 1 + number)]
  return testRoute(`shop/other-${number}`, { clusterIP: `10.96.7.${number}`, port: 80, endpoints })
}

/** It tells its port. */
async function listen(): Promise<Place> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(String((server.address() as AddressInfo).port))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

/** A connection that stays open at this end. */
async function talk(): Promise<Socket> {
  const socket = connect({ host: serviceIp, port: 80, allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`
}

/** Who answers, or what fails. */
function ask(): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host: serviceIp, port: 80 })
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => (answer += text))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('end', () => resolve(answer))
  })
}
