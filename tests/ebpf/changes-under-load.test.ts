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
import type { SocketPlan } from '../../src/backends/ebpf/plan.ts'
import { SocketBalancer } from '../../src/backends/ebpf/socket-balancer.ts'
import { builtObject } from '../../src/backends/ebpf/testing/built-object.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { routeKey } from '../../src/core/route.ts'
import type { RouteKey } from '../../src/core/route.ts'
import { SyncSteps } from '../../src/core/sync/sync-steps.ts'
import { FakeClock } from '../../src/core/testing/fake-clock.ts'
import { KernelSite } from '../../src/dataplane/ebpf/testing/kernel-site.ts'
import type { Namespace } from '../packet/testing/namespace.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { parsePlace } from './testing/client-socket.ts'
import { JoinedCgroup } from './testing/joined-cgroup.ts'
import { Lab, serverPlaces } from './testing/lab.ts'
import { programsHere } from './testing/programs-here.ts'
import { linksWork, socketTestProblem } from './testing/socket-lab.ts'

const [first, second, third, fourth] = serverPlaces.ipv4
const problem = await socketTestProblem()
const [changes, connects] = [1_000, 10_000]
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
      families: ['ipv4'],
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
        endsTcp: false,
        leaseMs: 0,
        udpIdleMs: 30_000,
      },
      owner: 1n,
      kernelNow: () => process.hrtime.bigint(),
      clock,
      log: silentLogger,
    })
    /** Nobody listens at the endpoints of the other Service: who gets one of them is refused. */
    const routes = (open: readonly string[], closed: readonly string[]): ReadonlyMap<RouteKey, SocketRoute> =>
      new Map([route('web', '10.96.0.1', open), route('closed', '10.96.0.2', closed)].map((each) => [each.key, each]))
    const closed = [first, second, third, fourth].map((place) => place.replace(':8080', ':9'))
    const turns = [
      routes([first, second], closed.slice(2)),
      routes([third], closed),
      routes([second, third, fourth], closed.slice(0, 1)),
      routes([fourth, first], closed.slice(1)),
    ]
    let { after } = await balancer.rewrite(
      { family: 'ipv4', routes: routes([first], closed), node },
      new SyncSteps(),
      never,
    )
    const change = async (wanted: ReadonlyMap<RouteKey, SocketRoute>): Promise<void> => {
      // What rests before it is used again has rested.
      await clock.advance(61_000)
      const task = { family: 'ipv4', routes: wanted, node } as const
      const edit = await balancer.edit(task, after, new SyncSteps(), never)
      if (edit === undefined) throw new Error('an edit was not enough')
      after = edit.after
    }

    const output = connectFrom(nodes.pod, connects)
    const isOver = new AbortController()
    let looks = 0
    void output.finally(() => isOver.abort())
    for (let done = 0; !isOver.signal.aborted || done < changes; done++) {
      await change(turns[done % turns.length] ?? new Map())
      await nextTurn()
      // Who began to choose before the change may end after it.
      if (done % 50 !== 0 || isOver.signal.aborted) continue
      await site.bpf.fence()
      const gone = pickedOf(balancer, (id) => !isHeld(after, id))
      const before = statsOf(balancer).connections
      for (let waited = 0; waited < 200 && statsOf(balancer).connections < before + 8; waited++) await wait(1)
      looks += statsOf(balancer).connections > before ? 1 : 0
      expect(pickedOf(balancer, (id) => !isHeld(after, id))).toEqual(gone)
    }
    // There were connections between most of these changes and the next.
    expect(looks).toBeGreaterThan(5)
    expect(await output).toEqual({ connected: connects, failed: {} })

    const stats = statsOf(balancer)
    expect(stats.connections + stats.passed).toBe(connects)
    // To be left to the packet path is no fault, but must be rare.
    expect(stats.passed).toBeLessThan(connects / 100)

    // Who was taken away is reached by nobody from then on.
    await change(routes([first], closed))
    const before = pickedOf(balancer)
    expect(await connectFrom(nodes.pod, 200)).toEqual({ connected: 200, failed: {} })
    const more = pickedOf(balancer).map((picked, id) => picked - (before[id] ?? 0))
    expect(more.filter((picked) => picked > 0)).toEqual([200])
  })
})

async function connectFrom(pod: Namespace, times: number): Promise<unknown> {
  const program = pod.start(process.execPath, ['-e', client, String(times)], process.env)
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
const mostIds = 64

function isHeld({ routesByKey }: SocketPlan, wanted: number): boolean {
  for (const { held } of routesByKey.values())
    for (const { id } of held?.recordsByAddress.values() ?? []) if (id === wanted) return true
  return false
}

/** Of the Service that was used most. */
function statsOf({ tables }: SocketBalancer) {
  const bytes = tables?.maps.service_stats.bytes ?? new Uint8Array()
  const all = Array.from({ length: Math.min(bytes.length / layout.serviceStats.size, mostIds) }, (_, index) =>
    decodeServiceStats(bytes, index * layout.serviceStats.size),
  )
  return all.reduce((most, stats) => (stats.connections > most.connections ? stats : most))
}

function route(name: string, ip: string, addresses: readonly string[]): SocketRoute {
  const frontend = { scope: 'address', ip, port: 80, protocol: 'TCP' } as const
  return {
    key: routeKey('shop', name, '', 'TCP'),
    family: 'ipv4',
    protocol: 'TCP',
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
  let left = Number(process.argv[1])
  const counted = { connected: 0, failed: {} }
  const next = () => {
    if (left-- <= 0) return
    const socket = connect({ host: '10.96.0.1', port: 80 })
    socket.once('connect', () => { counted.connected++; socket.resetAndDestroy() })
    socket.on('error', ({ code }) => { counted.failed[code] = (counted.failed[code] ?? 0) + 1 })
    socket.once('close', next)
  }
  for (let i = 0; i < 8; i++) next()
  process.on('exit', () => console.log(JSON.stringify(counted)))`
