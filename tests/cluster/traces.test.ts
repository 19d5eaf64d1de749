/** Traces as people see them: sent by the real program, in each mode and over both protocols, and asked for in a real Jaeger. */
import { readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import type { KubernetesObject } from '../e2e/testing/objects.ts'
import { Namespace, namespaceProblem } from '../packet/testing/namespace.ts'
import { NodeProcess } from '../packet/testing/node-process.ts'
import { collectorPorts, Jaeger, linksOf, parentOf, shapeBelow, tag } from './testing/jaeger.ts'
import type { JaegerSpan, JaegerTrace } from './testing/jaeger.ts'

const program = fileURLToPath(new URL('../../bin/fairlead.js', import.meta.url))
const page = readFileSync(new URL('../../docs/tracing.md', import.meta.url), 'utf8')
const problem = namespaceProblem()
const patiently = { timeout: 40_000, interval: 200 }

/** After each sync, in every mode. */
const hooks = `
  drift
  service health checks
  delete stale UDP flows
  the last sync of each Service
  note that our rules are complete`

/** The trees as docs/tracing.md has them, written by hand: the first sync, and one that a change of an endpoint caused. */
const trees = {
  nftables: {
    first: `syncProxyRules
  plan
  read
  compare
  apply
    commit${hooks}`,
    change: `syncProxyRules
  plan
  apply
    commit${hooks}`,
  },
  iptables: {
    first: `syncProxyRules
  read
  plan
  compare
  apply
    commit${hooks}`,
    change: `syncProxyRules
  plan
  apply
    commit${hooks}`,
  },
} as const

/** The userspace mode, part by part: what may be below what. */
const userspaceEdges = [
  'syncProxyRules > iptablesInit',
  'syncProxyRules > mergeService',
  'mergeService > addServiceOnPortInternal',
  'mergeService > openPortal',
  'openPortal > openOnePortal',
  'openPortal > openNodePort',
  'mergeService > LoadBalancerRR.NewService',
  'syncProxyRules > unmergeService',
  'unmergeService > closePortal',
  'closePortal > closeOnePortal',
  'closePortal > closeNodePort',
  'unmergeService > stopProxy',
  'syncProxyRules > ensurePortals',
  'syncProxyRules > cleanupStaleStickySessions',
  'OnServiceAdd > serviceChange',
  'OnServiceDelete > serviceChange',
  'OnEndpointSliceUpdate > LoadBalancerRR.OnEndpointSliceUpdate',
  'createProxier > open',
  'proxyConnection > tryConnect',
  'tryConnect > NextEndpoint',
  'tryConnect > dial',
  'proxyConnection > proxyTCP',
  'proxyTCP > copyBytes',
]

const web = (address: string): readonly KubernetesObject[] => [
  service('web', 80, {
    type: 'NodePort',
    clusterIP: '10.96.0.10',
    externalIPs: ['198.51.100.7'],
    ports: [{ name: 'http', port: 80, nodePort: 30080 }],
    sessionAffinity: 'ClientIP',
  }),
  slice('web', 16686, { addresses: [address] }),
]

describe.skipIf(problem !== undefined)(
  `traces in Jaeger${problem === undefined ? '' : ` [skipped: ${problem}]`}`,
  () => {
    test.each([
      ['nftables', 'http'],
      ['iptables', 'grpc'],
    ] as const)('%s, over %s: the trees are those of the page', async (mode, protocol) => {
      await using site = await Site.make(...web('192.0.2.7'))
      await using daemon = site.fairlead(
        [`--objects=${site.objects}`, `--proxy-mode=${mode}`, ...nodeFlags],
        collectorPorts[protocol],
      )
      const first = await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, daemon)
      const { first: firstTree, change: changeTree } = trees[mode]
      expect(shape(first)).toBe(firstTree)
      expect(page).toContain(firstTree)
      const lists = site.all('OnServiceSynced')
      expect(linksOf(first.root)).toContain(lists[0]?.trace.traceID)
      expect(resourceOf(first)).toMatchObject({
        'k8s.node.name': 'node1',
        'proxy.mode': mode,
        'service.version': expect.any(String),
        'host.name': expect.any(String),
      })

      await site.write(...web('192.0.2.8'))
      const event = await site.root('OnEndpointSliceUpdate', {}, daemon)
      expect(tag(event.root, 'changed')).toBe(true)
      expect(tag(event.root, 'k8s.endpointslice.name')).toBe('web-1')
      const sync = await site.root('syncProxyRules', { trigger: 'change' }, daemon)
      expect(shape(sync)).toBe(changeTree)
      expect(page).toContain(changeTree)
      expect(linksOf(sync.root)).toEqual([event.trace.traceID])
    })

    test('userspace: every part of the table is there', async () => {
      await using site = await Site.make(...web('192.0.2.7'))
      await using daemon = site.fairlead(
        [`--objects=${site.objects}`, '--proxy-mode=userspace', '--trace-sampling=1', ...nodeFlags],
        collectorPorts.http,
      )
      await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, daemon)
      await site.write(...web('192.0.2.8'))
      await site.root('OnEndpointSliceUpdate', {}, daemon)
      // The only server on this node is Jaeger's own.
      await site.write(...web('192.0.2.1'))
      await expect.poll(() => site.fetch('http://10.96.0.10/api/services'), patiently).toContain('fairlead')
      await site.root('proxyTCP', {}, daemon)
      await site.write(service('other', 80, { clusterIP: '10.96.0.11' }))
      await site.root('OnServiceDelete', {}, daemon)
      await expect.poll(() => site.edges(), patiently).toEqual(expect.arrayContaining([...userspaceEdges]))
      for (const edge of userspaceEdges) for (const name of edge.split(' > ')) expect(page).toContain(name)
    })

    test('core and backend are one trace', async () => {
      await using site = await Site.make(...web('192.0.2.7'))
      const socket = `unix://${join(site.folder, 'api.sock')}`
      await using core = site.fairlead(
        ['file', 'to-api', `--input=${site.objects}`, `--listen=${socket}`],
        collectorPorts.grpc,
      )
      await site.root('OnServiceSynced', { 'fairlead.source': 'files' }, core)
      await using backend = site.fairlead(['api', 'to-nftables', `--api=${socket}`, ...nodeFlags], collectorPorts.http)
      await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, backend)
      await site.write(...web('192.0.2.8'))
      // The last trace in which something was sent has the whole way of the change.
      const way = () => {
        const sent = site.all('send').at(-1)
        return sent === undefined ? [] : names(site.traceOf(sent.trace.traceID))
      }
      await expect
        .poll(way, patiently)
        .toEqual(['OnEndpointSlicesSynced', 'store', 'send', 'OnEndpointSliceUpdate', 'catalog', 'route'].toSorted())
      const { trace } = site.all('send').at(-1)!
      const spanNamed = (name: string) => trace.spans.find((span) => span.operationName === name)
      for (const part of ['store', 'send', 'OnEndpointSliceUpdate'])
        expect(parentOf(spanNamed(part)!)).toBe(spanNamed('OnEndpointSlicesSynced')?.spanID)
      const commands = Object.values(trace.processes).map((process) => tag(process, 'fairlead.command'))
      expect(new Set(commands)).toEqual(new Set(['file to-api', undefined]))
      // The sync of the backend links to its event, which is in the core's trace.
      await expect
        .poll(
          () => site.all('syncProxyRules').filter(({ root }) => linksOf(root).includes(trace.traceID)).length,
          patiently,
        )
        .toBeGreaterThan(0)
    })
  },
)

const nodeFlags = [
  '--hostname-override=node1',
  '--node-address=192.0.2.1',
  '--iptables-min-sync-period=10ms',
  '--debug-socket=none',
  // What belongs to the whole machine stays as it is.
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0s',
  '--conntrack-tcp-timeout-close-wait=0s',
]

interface Found {
  readonly trace: JaegerTrace
  readonly root: JaegerSpan
}

/** A node with Jaeger beside it, and a folder of objects. */
class Site implements AsyncDisposable {
  readonly #namespace: Namespace
  readonly #jaeger: Jaeger
  readonly #folder: TemporaryFolder

  private constructor(namespace: Namespace, jaeger: Jaeger, folder: TemporaryFolder) {
    this.#namespace = namespace
    this.#jaeger = jaeger
    this.#folder = folder
  }

  static async make(...objects: readonly KubernetesObject[]): Promise<Site> {
    const namespace = Namespace.make()
    namespace.ip(
      'link add eth0 type veth peer name peer0',
      'addr add 192.0.2.1/24 dev eth0',
      'link set eth0 up',
      'link set peer0 up',
      'route add default via 192.0.2.254',
    )
    const site = new Site(namespace, await Jaeger.start(namespace), await TemporaryFolder.make())
    await site.write(...objects)
    return site
  }

  get folder(): string {
    return this.#folder.path
  }

  get objects(): string {
    return join(this.#folder.path, 'objects.yaml')
  }

  async write(...objects: readonly KubernetesObject[]): Promise<void> {
    // In one step: half a file would be a state of its own.
    await rename(await this.#folder.write('objects.new', manifest(...objects)), this.objects)
  }

  fairlead(args: readonly string[], port: number): NodeProcess {
    const endpoint = `--otlp-endpoint=http://127.0.0.1:${port}`
    return new NodeProcess(this.#namespace, process.execPath, [program, ...args, endpoint], {
      OTEL_BSP_SCHEDULE_DELAY: '50',
    })
  }

  /** What a client on the node gets; empty if nothing. */
  fetch(url: string): string {
    try {
      return this.#namespace.run('curl', ['-sS', '--max-time', '5', url])
    } catch {
      return ''
    }
  }

  /** Spans with this name, the oldest first. */
  all(name: string): readonly Found[] {
    return this.#jaeger
      .traces('fairlead')
      .flatMap((trace) => trace.spans.map((root) => ({ trace, root })))
      .filter(({ root }) => root.operationName === name)
      .toSorted((left, right) => left.root.startTime - right.root.startTime)
  }

  /** Waits for one with these tags; all of its trace was sent with it. */
  async root(name: string, tags: Readonly<Record<string, unknown>>, sender: NodeProcess): Promise<Found> {
    const matching = () =>
      this.all(name).find(({ root }) => Object.entries(tags).every(([key, value]) => tag(root, key) === value))
    await vi.waitUntil(() => matching() !== undefined || !sender.isRunning, patiently).catch(() => {})
    const found = matching()
    if (found === undefined) throw new Error(`no ${name} in Jaeger; the sender says:\n${sender.output}`)
    return found
  }

  traceOf(id: string): JaegerTrace {
    const found = this.#jaeger.traces('fairlead').find(({ traceID }) => traceID === id)
    if (found === undefined) throw new Error(`Jaeger has no trace ${id}`)
    return found
  }

  /** `parent > child`, each once. */
  edges(): readonly string[] {
    const edges = this.#jaeger.traces('fairlead').flatMap(({ spans }) => {
      const nameById = new Map(spans.map((span) => [span.spanID, span.operationName]))
      return spans.flatMap((span) => {
        const parent = nameById.get(parentOf(span) ?? '')
        return parent === undefined ? [] : [`${parent} > ${span.operationName}`]
      })
    })
    return [...new Set(edges)].toSorted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#jaeger[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
    this.#namespace[Symbol.dispose]()
  }
}

function shape({ trace, root }: Found): string {
  return shapeBelow(trace, [root]).join('\n')
}

function names({ spans }: JaegerTrace): readonly string[] {
  return [...new Set(spans.map((span) => span.operationName))].toSorted()
}

function resourceOf({ trace, root }: Found): Readonly<Record<string, unknown>> {
  return Object.fromEntries((trace.processes[root.processID]?.tags ?? []).map(({ key, value }) => [key, value]))
}
