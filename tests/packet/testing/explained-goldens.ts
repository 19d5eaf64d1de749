/** The recorded scenarios on a node with real packets: what `fairlead explain` says about each of their flows must happen. */
import { ebpfDefaults } from '../../../src/config/daemon/ebpf-flags.ts'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { askForJson } from '../../../src/cli/ask/ask-daemon.ts'
import { explainWorld } from '../../../src/cli/explain/explain-world.ts'
import { thisHost } from '../../../src/cli/host/this-host.ts'
import { readObjectsOnNode } from '../../../src/cli/offline/objects-on-node.ts'
import { offlineNode } from '../../../src/cli/offline/offline-flags.ts'
import { explain } from '../../../src/core/explain/explain.ts'
import type { Explanation } from '../../../src/core/explain/explanation.ts'
import type { World } from '../../../src/core/explain/world.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import type { Route } from '../../../src/core/route.ts'
import { families, familyOf, hostPort } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { configPath, objectPaths } from '../../testing/golden-scenarios.ts'
import { answerDeadlineMs } from './answer-deadline.ts'
import { ask } from './ask.ts'
import type { Outcome } from './ask.ts'
import { EbpfPlace } from './fairlead-ebpf.ts'
import { fairleadProgram } from './fairlead.ts'
import { NodeProcess } from './node-process.ts'
import { OpenLab } from './open-lab.ts'
import type { Place } from './open-lab.ts'

const nodeIPs = { ipv4: '10.200.0.2', ipv6: '2001:db8:200::2' } as const
/** In the pod range of the recordings; in that of no node; and outside. */
const clients = {
  'a pod': { ipv4: '10.64.0.200', ipv6: 'fd00:64::200' },
  'a client outside': { ipv4: '203.0.113.7', ipv6: '2001:db8:300::7' },
} as const

export interface GoldenFlow {
  readonly from: keyof typeof clients | 'the node'
  readonly family: Family
  readonly to: Place
}

export interface ComparedFlow {
  readonly explained: string
  readonly observed: string
}

export class GoldenOnNode implements AsyncDisposable {
  readonly #world: World
  readonly #lab: OpenLab
  readonly #proxy: NodeProcess
  readonly #folder: TemporaryFolder
  readonly #place: EbpfPlace | undefined

  private constructor(world: World, lab: OpenLab, proxy: NodeProcess, folder: TemporaryFolder, place?: EbpfPlace) {
    this.#world = world
    this.#lab = lab
    this.#proxy = proxy
    this.#folder = folder
    this.#place = place
  }

  static async start(scenario: string, mode: string): Promise<GoldenOnNode> {
    const folder = await TemporaryFolder.make()
    const config = await folder.write('config.json', JSON.stringify(configFor(scenario, mode)))
    const world = await worldOf(scenario, config)
    const lab = new OpenLab({
      nodeIPs: Object.values(nodeIPs),
      clientIPs: Object.fromEntries(Object.entries(clients).map(([name, ips]) => [name, Object.values(ips)])),
      endpoints: routesIn(world).flatMap(endpointsOf),
      entrances: routesIn(world).flatMap(addressesOf),
    })
    const place = mode === 'ebpf' ? new EbpfPlace() : undefined
    if (place !== undefined) for (const host of [lab.node, lab.client('a pod')]) host.useCgroup(place.cgroup)
    const socket = `unix://${folder.path}/debug.sock`
    const proxy = new NodeProcess(lab.node, process.execPath, [
      fairleadProgram,
      `--config=${config}`,
      `--objects=${objectPaths(scenario).join(',')}`,
      `--node-address=${Object.values(nodeIPs).join(',')}`,
      `--debug-socket=${socket}`,
      ...(place?.flags ?? []),
    ])
    const started = new GoldenOnNode(world, lab, proxy, folder, place)
    try {
      await started.#programmed(socket)
      return started
    } catch (error) {
      await started[Symbol.asyncDispose]()
      throw error
    }
  }

  /** From everybody to everywhere; what the test has no client or server for is left out. */
  flows(): readonly GoldenFlow[] {
    const sources = [...(Object.keys(clients) as (keyof typeof clients)[]), 'the node' as const]
    return routesIn(this.#world).flatMap((route) => {
      const { family } = route
      const nodePorts = route.entrances.flatMap(({ kind, port }) =>
        kind === 'node-port' ? placesOf(route, [{ ip: nodeIPs[family], port }]) : [],
      )
      return [...addressesOf(route), ...nodePorts].flatMap((to) => sources.map((from) => ({ from, family, to })))
    })
  }

  async compare(flow: GoldenFlow): Promise<ComparedFlow> {
    const { from, family, to } = flow
    const source = from === 'the node' ? nodeIPs[family] : clients[from][family]
    const { kind: _, ...target } = { kind: '', ...to }
    const answer = explain({ target: { kind: 'address', ...target }, from: { kind: 'ip', ip: source } }, this.#world)
    if (!answer.ok) throw new Error(answer.message)
    const [explanation] = answer.explanations
    if (explanation === undefined) throw new Error('no explanation')
    const expected = wordsOf(explanation, family, to)
    const seen = await this.#observe(flow, source, expected)
    // Affinity keeps a client at one of them.
    const isKept = explanation.affinitySeconds !== undefined && [...seen].every((words) => expected.has(words))
    const name = `${from} → ${hostPort(to.ip, to.port)}/${to.protocol}`
    const told = (words: ReadonlySet<string>) => `${name}: ${[...words].sort().join(', ')}`
    return { explained: told(expected), observed: told(isKept ? expected : seen) }
  }

  async #observe({ from, to }: GoldenFlow, source: string, expected: ReadonlySet<string>) {
    const client = from === 'the node' ? this.#lab.node : this.#lab.client(from)
    const seen = new Set<string>()
    const missing = new Set(expected)
    const transport = to.protocol === 'TCP' ? 'tcp' : 'udp'
    const patienceMs = expected.has('silence') ? 1500 : answerDeadlineMs(5000)
    const fewest = expected.has('silence') ? 1 : 6
    for (let tries = 0; tries < 60 && (tries < fewest || missing.size > 0); tries++) {
      // Round robin gives callers that take turns one endpoint each: then lose step.
      if (tries >= fewest) await sleep(10 * Math.random())
      const outcome = await ask(client, { transport, ip: to.ip, port: to.port, source, patienceMs })
      const words = told(outcome, source)
      seen.add(words)
      missing.delete(words)
      if (!expected.has(words)) break
    }
    return seen
  }

  /** The proxy says itself when it has synced. */
  async #programmed(server: string): Promise<void> {
    const host = thisHost()
    const deadline = performance.now() + Number(process.env['PROGRAMMING_DEADLINE_MS'] ?? 50_000)
    for (;;) {
      if (performance.now() > deadline || !this.#proxy.isRunning)
        throw new Error(`the proxy has not programmed its rules:\n${this.#proxy.output}`)
      const isThere = await askForJson('/debug/services/default/kubernetes', {}, { server, host }, never).then(
        (page) => (page as { readonly lastSyncs: readonly unknown[] }).lastSyncs.length === families.length,
        () => false,
      )
      if (isThere) return
      await sleep(50)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]()
    await this.#place?.[Symbol.asyncDispose]()
    this.#lab[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

const never = new AbortController().signal

function configFor(scenario: string, mode: string): object {
  const recorded = JSON.parse(readFileSync(configPath(scenario), 'utf8')) as Readonly<Record<string, unknown>>
  return { ...recorded, mode, oomScoreAdj: 0 }
}

async function worldOf(scenario: string, config: string): Promise<World> {
  const host = thisHost()
  const request = await offlineNode(
    {
      'proxy-mode': '',
      config,
      'node-name': '',
      'node-address': Object.values(nodeIPs),
      'strict-source-ranges': false,
      'external-ip-guard': 'warn',
      'external-ip-cidrs': [],
      'external-ip-guard-namespaces': false,
      'localhost-nodeports': 'auto',
      'hns-network-type': 'auto',
      ...ebpfDefaults,
    },
    host,
  )
  const node = await readObjectsOnNode(objectPaths(scenario), request, { host, log: silentLogger })
  return explainWorld({
    catalog: node.catalog,
    traits: () => request.mode.traits(request.config, request.ebpf),
    settings: node.settings,
    tables: families.map((family) => ({ family, table: node.routes(family) })),
  })
}

function routesIn({ families: known }: World): readonly Route[] {
  return known.flatMap(({ table }) => [...table.view.routesByKey.values()])
}

function addressesOf(route: Route): readonly Place[] {
  return placesOf(
    route,
    route.entrances.flatMap((entrance) => (entrance.kind === 'node-port' ? [] : [entrance])),
  )
}

function endpointsOf(route: Route): readonly Place[] {
  return placesOf(route, route.endpoints)
}

/** No server of the test speaks SCTP. */
function placesOf({ protocol }: Route, places: readonly { readonly ip: string; readonly port: number }[]) {
  return protocol === 'SCTP' ? [] : places.map(({ ip, port }) => ({ ip, port, protocol }))
}

function wordsOf({ verdict, clientSees, answerers }: Explanation, family: Family, to: Place): ReadonlySet<string> {
  switch (verdict.kind) {
    case 'forward':
      return new Set(answerers.map(({ address, sourceSeen }) => `${address} sees the ${sourceSeen}`))
    case 'untouched':
      // Nobody but the proxy listens on the node.
      return new Set([to.ip === nodeIPs[family] ? 'refused' : 'answered by beyond'])
    case 'reject':
    case 'drop':
      return new Set([clientSees === 'refused at once' ? 'refused' : clientSees === 'timeout' ? 'silence' : clientSees])
    default:
      return verdict satisfies never
  }
}

function told(outcome: Outcome, source: string): string {
  if (outcome.kind === 'failed') return `failed with ${outcome.code}`
  if (outcome.kind !== 'answer') return outcome.kind
  const { answeredBy, sawSource, port } = outcome.answer
  if (answeredBy === 'beyond') return 'answered by beyond'
  // The node's own address is both.
  const isNode = sawSource === nodeIPs[familyOf(sawSource)]
  const seen = isNode ? 'the node' : sawSource === source ? 'the client' : sawSource
  return `${hostPort(answeredBy, port)} sees ${seen}`
}
