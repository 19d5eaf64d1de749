/** Endpoints come and go while programs connect: nobody fails, and nobody reaches an endpoint that was taken away. */
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { frontendId } from '../../src/backends/ebpf/frontends-of.ts'
import type { SocketRoute } from '../../src/backends/ebpf/frontends-of.ts'
import {
  decodeEndpointStats,
  decodeServiceStats,
  digestSize,
  layout,
  listBits,
} from '../../src/backends/ebpf/layout.ts'
import type { SocketProtocol } from '../../src/backends/ebpf/layout.ts'
import type { SocketPlan } from '../../src/backends/ebpf/plan.ts'
import { SocketBalancer } from '../../src/backends/ebpf/socket-balancer.ts'
import { builtObject } from '../../src/backends/ebpf/testing/built-object.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { routeKey } from '../../src/core/route.ts'
import type { RouteKey } from '../../src/core/route.ts'
import { SyncSteps } from '../../src/core/sync/sync-steps.ts'
import { FakeClock } from '../../src/core/testing/fake-clock.ts'
import { KernelSite } from '../../src/dataplane/ebpf/testing/kernel-site.ts'
import { families, hostPort } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import type { Namespace } from '../packet/testing/namespace.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { ClientSocket, parsePlace } from './testing/client-socket.ts'
import { JoinedCgroup } from './testing/joined-cgroup.ts'
import { Lab, serverPlaces } from './testing/lab.ts'
import { programsHere } from './testing/programs-here.ts'
import { linksWork, socketTestProblem } from './testing/socket-lab.ts'

const problem = await socketTestProblem()
const [changes, connects, datagrams] = [1_000, 4_000, 12_000]
const serviceIps = { ipv4: '10.96.0.1', ipv6: 'fd96::1' } as const
const closedIps = { ipv4: '10.96.0.2', ipv6: 'fd96::2' } as const
const ports = { TCP: 80, UDP: 53 } as const
const protocols = ['TCP', 'UDP'] as const
const node = { ownIps: new Set<string>(), nodePortIps: new Set<string>() }
const never = new AbortController().signal

describeUnless(problem, 'changes under load', () => {
  const open: Disposable[] = []
  afterAll(() => {
    for (const part of open.splice(0).reverse()) part[Symbol.dispose]()
  })

  test('fail no connection, and lead nobody to an endpoint that was taken away, although memory is used again at once', async () => {
    const object = await builtObject()
    const site = await KernelSite.open()
    open.push(site)
    const cgroup = site.makeCgroup('load')
    open.push(new JoinedCgroup(cgroup, dirname(cgroup)))
    const nodes = new Lab()
    open.push(nodes)
    await linksWork(nodes)

    const clock = new FakeClock()
    await using balancer = new SocketBalancer({
      bpf: site.bpf,
      families,
      pins: join(site.bpffs, 'fairlead'),
      cgroup,
      programs: (await programsHere(site.bpf, object)).hooks,
      digest: new Uint8Array(digestSize),
      settings: {
        hostNetns: 1n,
        scope: 'all',
        tcp: true,
        udpSend: true,
        udpConnect: 'all',
        loopbackNodePorts: false,
        peerNames: true,
        entersPods: true,
        endsTcp: false,
        leaseMs: 0,
        udpIdleMs: 30_000,
      },
      owner: 1n,
      kernelNow: () => process.hrtime.bigint(),
      clock,
      log: silentLogger,
    })
    const plans = new Map<Family, SocketPlan>()
    for (const family of families) {
      const task = { family, routes: routesOf(family, { open: [0], closed: [0, 1, 2, 3] }), node } as const
      plans.set(family, (await balancer.rewrite(task, new SyncSteps(), never)).after)
    }
    const change = async (turn: Turn): Promise<void> => {
      // What rests before it is used again has rested.
      await clock.advance(61_000)
      for (const [family, before] of plans) {
        const task = { family, routes: routesOf(family, turn), node } as const
        const edit = await balancer.edit(task, before, new SyncSteps(), never)
        if (edit === undefined) throw new Error('an edit was not enough')
        plans.set(family, edit.after)
      }
    }
    const statsOf = (family: Family, protocol: SocketProtocol) => {
      const held = plans.get(family)?.routesByKey.get(keyOf('web', family, protocol))?.held
      if (held === undefined) throw new Error('a Service of the test is in no table')
      const bytes = balancer.tables?.maps.service_stats.bytes ?? new Uint8Array()
      return decodeServiceStats(bytes, held.index * layout.serviceStats.size)
    }
    const choices = () =>
      protocols.flatMap((each) => families.map((of) => statsOf(of, each).connections)).reduce((sum, n) => sum + n, 0)
    using talkers = new Talkers(nodes.pod)

    const output = Promise.all(families.map((family) => connectFrom(nodes.pod, serviceIps[family], connects)))
    const answers = sendFrom(nodes.pod, Object.values(serviceIps), datagrams)
    const isOver = new AbortController()
    let looks = 0
    void Promise.all([output, answers]).finally(() => isOver.abort())
    for (let done = 0; !isOver.signal.aborted || done < changes; done++) {
      const turn = turns[done % turns.length] ?? lastTurn
      await change(turn)
      await nextTurn()
      // Who began to choose before the change may end after it.
      if (done % 50 !== 0 || isOver.signal.aborted) continue
      expect(await talkers.strangersBeside(turn.open)).toEqual([])
      await site.bpf.fence()
      const gone = pickedOf(balancer, (id) => !isHeld(plans, id))
      const before = choices()
      for (let waited = 0; waited < 200 && choices() < before + 8; waited++) await wait(1)
      looks += choices() > before ? 1 : 0
      expect(pickedOf(balancer, (id) => !isHeld(plans, id))).toEqual(gone)
    }
    // There were choices between most of these changes and the next.
    expect(looks).toBeGreaterThan(5)
    expect(await output).toEqual(families.map(() => ({ connected: connects, failed: {} })))
    expect(await answers).toEqual({ answered: datagrams, lost: 0, fromElsewhere: 0 })

    for (const family of families) {
      const [tcp, udp] = [statsOf(family, 'TCP'), statsOf(family, 'UDP')]
      expect(tcp.connections + tcp.passed).toBe(connects)
      // To be left to the packet path is no fault, but must be rare.
      expect(tcp.passed).toBeLessThan(connects / 100)
      expect(udp.passed).toBeLessThan(udp.connections / 100)
    }

    // Who was taken away is reached by nobody from then on.
    await change(lastTurn)
    expect(await talkers.strangersBeside(lastTurn.open)).toEqual([])
    const before = pickedOf(balancer)
    for (const ip of Object.values(serviceIps))
      expect(await connectFrom(nodes.pod, ip, 200)).toEqual({ connected: 200, failed: {} })
    const more = pickedOf(balancer).map((picked, id) => picked - (before[id] ?? 0))
    expect(more.filter((picked) => picked > 0)).toEqual([200, 200])
  })
})

/** Which of the servers serve. Nobody listens at the endpoints of the other Service: who gets one of them is refused. */
interface Turn {
  readonly open: readonly number[]
  readonly closed: readonly number[]
}

const turns: readonly Turn[] = [
  { open: [0, 1], closed: [2, 3] },
  { open: [2], closed: [0, 1, 2, 3] },
  { open: [1, 2, 3], closed: [0] },
  { open: [3, 0], closed: [1, 2, 3] },
]
const lastTurn: Turn = { open: [0], closed: [0, 1, 2, 3] }

function routesOf(family: Family, { open, closed }: Turn): ReadonlyMap<RouteKey, SocketRoute> {
  const places = serverPlaces[family]
  const openPlaces = open.map((server) => places[server] ?? '')
  const closedPlaces = closed.map((server) => (places[server] ?? '').replace(/:8080$/, ':9'))
  const all = protocols.flatMap((protocol) => [
    route('web', { family, protocol, ip: serviceIps[family] }, openPlaces),
    route('closed', { family, protocol, ip: closedIps[family] }, closedPlaces),
  ])
  return new Map(all.map((each) => [each.key, each]))
}

/** UDP sockets that live through all changes. Who is left to the packet path is no stranger there. */
class Talkers implements Disposable {
  readonly #sockets: readonly { readonly family: Family; readonly socket: ClientSocket }[]

  constructor(pod: Namespace) {
    this.#sockets = families.map((family) => ({ family, socket: ClientSocket.udp(pod, family) }))
  }

  /** Who answered and is none of these, or not in the name of the Service. */
  async strangersBeside(servers: readonly number[]): Promise<readonly string[]> {
    const strangers: string[] = []
    for (const { family, socket } of this.#sockets) {
      const service = hostPort(serviceIps[family], ports.UDP)
      const sent = socket.send('hello', service)
      const { from, answer } = await socket.receive()
      const allowed = servers.map((server) => parsePlace(serverPlaces[family][server] ?? '').ip)
      if (sent === 'ok' && from === service && [...allowed, 'packets'].includes(answer.answeredBy)) continue
      strangers.push(`${sent}: ${answer.answeredBy} as ${from}`)
    }
    return strangers
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#sockets) socket[Symbol.dispose]()
  }
}

async function connectFrom(pod: Namespace, ip: string, times: number): Promise<unknown> {
  return outputOf(pod.start(process.execPath, ['-e', client, ip, String(times)], process.env))
}

async function sendFrom(pod: Namespace, ips: readonly string[], times: number): Promise<unknown> {
  return outputOf(pod.start(process.execPath, ['-e', sender, String(times), ...ips], process.env))
}

async function outputOf(program: ReturnType<Namespace['start']>): Promise<unknown> {
  const [counted, complaints] = await Promise.all([text(program.stdout), text(program.stderr), once(program, 'close')])
  expect(complaints).toBe('')
  return JSON.parse(counted)
}

function pickedOf({ tables }: SocketBalancer, isWanted = (_id: number) => true): readonly number[] {
  const bytes = tables?.maps.endpoint_stats.bytes ?? new Uint8Array()
  return Array.from({ length: Math.min(bytes.length / layout.endpointStats.size, mostIds) }, (_, id) =>
    isWanted(id) ? decodeEndpointStats(bytes, id * layout.endpointStats.size).picked : 0,
  )
}

/** More than the test ever takes: numbers are used again. */
const mostIds = 256

function isHeld(plans: ReadonlyMap<Family, SocketPlan>, wanted: number): boolean {
  for (const { routesByKey } of plans.values())
    for (const { held } of routesByKey.values())
      for (const { id } of held?.recordsByAddress.values() ?? []) if (id === wanted) return true
  return false
}

interface Asked {
  readonly family: Family
  readonly protocol: SocketProtocol
  readonly ip: string
}

function keyOf(name: string, family: Family, protocol: SocketProtocol): RouteKey {
  return routeKey('shop', `${name}-${family}`, '', protocol)
}

function route(name: string, { family, protocol, ip }: Asked, addresses: readonly string[]): SocketRoute {
  const frontend = { scope: 'address', ip, port: ports[protocol], protocol } as const
  return {
    key: keyOf(name, family, protocol),
    family,
    protocol,
    frontends: [{ id: frontendId(frontend), frontend, list: 'internal', isOnLoopbackOnly: false }],
    leftToPackets: [],
    lists: { internal: { kind: 'endpoints', addresses }, external: { kind: 'pass' } },
    endpoints: addresses.map((address) => ({ address, ...parsePlace(address), lists: listBits.internal })),
    affinitySeconds: 0,
    roundRobin: false,
  }
}

/** Connects so many times, eight at a time, and says how that went. */
const client = `
  const { connect } = require('node:net')
  const [host, times] = process.argv.slice(1)
  let left = Number(times)
  const counted = { connected: 0, failed: {} }
  const next = () => {
    if (left-- <= 0) return
    const socket = connect({ host, port: 80 })
    socket.once('connect', () => { counted.connected++; socket.resetAndDestroy() })
    socket.on('error', ({ code }) => { counted.failed[code] = (counted.failed[code] ?? 0) + 1 })
    socket.once('close', next)
  }
  for (let i = 0; i < 8; i++) next()
  process.on('exit', () => console.log(JSON.stringify(counted)))`

/**
 * Sends so many datagrams, each after the answer to the one before, by two sockets for each address. A socket that has sent
 * ten makes room for a new one.
 */
const sender = `
  const { createSocket } = require('node:dgram')
  const { isIPv6 } = require('node:net')
  const [times, ...ips] = process.argv.slice(1)
  let left = Number(times)
  const counted = { answered: 0, lost: 0, fromElsewhere: 0 }
  const talk = (ip) => {
    const socket = createSocket(isIPv6(ip) ? 'udp6' : 'udp4')
    let [sent, patience] = [0]
    const next = () => {
      clearTimeout(patience)
      if (left <= 0 || sent++ === 10) return socket.close(() => { if (left > 0) talk(ip) })
      left--
      socket.send('hello', 53, ip)
      // A guard against hanging, not a measure.
      patience = setTimeout(() => { counted.lost++; next() }, 20_000)
    }
    socket.on('message', (_answer, { address }) => {
      counted[address === ip ? 'answered' : 'fromElsewhere']++
      next()
    })
    next()
  }
  for (const ip of [...ips, ...ips]) talk(ip)
  process.on('exit', () => console.log(JSON.stringify(counted)))`
