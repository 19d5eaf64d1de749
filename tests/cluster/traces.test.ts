/** Traces as people see them: sent by the real program, in each mode and over both protocols, and asked for in a real Jaeger. */
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { node, service, slice } from '../e2e/testing/objects.ts'
import type { KubernetesObject } from '../e2e/testing/objects.ts'
import { namespaceProblem } from '../packet/testing/namespace.ts'
import { collectorPorts, linksOf, parentOf, shapeBelow, tag } from './testing/jaeger.ts'
import type { JaegerTrace } from './testing/jaeger.ts'
import { echoPort, hooks, nodeFlags, patiently, shape, TracedSite, tracingPage } from './testing/traced-site.ts'
import type { Found, PlacedSpan } from './testing/traced-site.ts'
import { ownEdges, userspaceRows } from './testing/userspace-spans.ts'
import type { SpanRow } from './testing/userspace-spans.ts'

const problem = namespaceProblem()

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

const webService = (externalIP = '198.51.100.7') =>
  service('web', 80, {
    type: 'NodePort',
    clusterIP: '10.96.0.10',
    externalIPs: [externalIP],
    ports: [{ name: 'http', port: 80, nodePort: 30080 }],
    sessionAffinity: 'ClientIP',
  })
const web = (address: string): readonly KubernetesObject[] => [
  webService(),
  slice('web', 16686, { addresses: [address] }),
]
/** The only servers on the node are Jaeger itself, and one for UDP. */
const own = { addresses: ['192.0.2.1'] }
const dns: readonly KubernetesObject[] = [
  service('dns', 53, { clusterIP: '10.96.0.53', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }),
  { ...slice('dns', echoPort, own), ports: [{ name: 'dns', port: echoPort, protocol: 'UDP' }] },
]
/** Not for this mode. */
const calls = service('calls', 5060, { clusterIP: '10.96.0.60', ports: [{ port: 5060, protocol: 'SCTP' }] })

describe.skipIf(problem !== undefined)(
  `traces in Jaeger${problem === undefined ? '' : ` [skipped: ${problem}]`}`,
  () => {
    test.each([
      ['nftables', 'http'],
      ['nftables', 'grpc'],
      ['iptables', 'http'],
      ['iptables', 'grpc'],
    ] as const)('%s, over %s: the trees are those of the page', async (mode, protocol) => {
      await using site = await TracedSite.make(...web('192.0.2.7'))
      await using daemon = site.fairlead(
        [`--objects=${site.objects}`, `--proxy-mode=${mode}`, ...nodeFlags],
        collectorPorts[protocol],
      )
      const first = await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, daemon)
      const { first: firstTree, change: changeTree } = trees[mode]
      expect(shape(first)).toBe(firstTree)
      expect(tracingPage).toContain(firstTree)
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
      expect(tracingPage).toContain(changeTree)
      expect(linksOf(sync.root)).toEqual([event.trace.traceID])
    })

    test('userspace: every span of the table is there, says what it must, and is where it must be', async () => {
      await using site = await TracedSite.make(webService(), slice('web', 1, own))
      await using daemon = site.fairlead(
        [`--objects=${site.objects}`, '--proxy-mode=userspace', '--trace-sampling=1', ...nodeFlags],
        collectorPorts.http,
      )
      await using echoing = site.echo()
      await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, daemon)
      expect(site.fetch('http://10.96.0.10/')).toBe('')
      await site.root('proxyConnection', { error: true }, daemon)

      await site.write(webService(), slice('web', 16686, own), ...dns, calls)
      await expect.poll(() => site.fetch('http://10.96.0.10/api/services'), patiently).toContain('fairlead')
      await expect.poll(() => site.exchange('10.96.0.53', 53), patiently).toBe('hello')
      expect(echoing.isRunning).toBe(true)
      await site.root('proxyTCP', {}, daemon)
      await site.root('udpClient', {}, daemon)

      // Two writes, because what happens at once is routed once.
      await site.write(webService('198.51.100.8'), slice('web', 16686, own), ...dns)
      await site.root('OnServiceUpdate', {}, daemon)
      await site.write(webService('198.51.100.8'), ...dns)
      await site.root('OnEndpointSliceDelete', {}, daemon)
      await site.root('cleanupStaleStickySessions', { services: 1 }, daemon)
      await site.write(service('other', 80, { clusterIP: '10.96.0.11' }))
      await site.root('conntrack.ClearEntriesForIP', {}, daemon)

      await vi.waitFor(() => expectRows(site.spans()), { timeout: 10_000, interval: 500 })
      const known = new Set([...ownEdges, ...userspaceRows.map(edgeOf)])
      expect(
        site
          .spans()
          .map(edgeOf)
          .filter((edge) => !known.has(edge)),
      ).toEqual([])
      for (const { name, differs = '' } of userspaceRows) {
        expect(tracingPage).toContain(name)
        expect(tracingPage.replace(/\s+/g, ' ')).toContain(differs)
      }
    })

    test('core and backend are one trace', async () => {
      await using site = await TracedSite.make(...web('192.0.2.7'))
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

    test('an API server, a core and a backend: each event is one trace, from the watch to the routes', async () => {
      await using site = await TracedSite.make()
      await using cluster = await site.cluster()
      await cluster.apply([node('node1'), ...web('192.0.2.7')])
      const socket = `unix://${join(site.folder, 'api.sock')}`
      await using core = site.fairlead(
        ['kube', 'to-api', `--kubeconfig=${join(site.folder, 'kubeconfig')}`, `--listen=${socket}`],
        collectorPorts.http,
      )
      await site.root('OnServiceSynced', { 'fairlead.source': 'kubernetes' }, core)
      await using backend = site.fairlead(['api', 'to-nftables', `--api=${socket}`, ...nodeFlags], collectorPorts.grpc)
      await site.root('syncProxyRules', { trigger: 'start', 'network.type': 'ipv4' }, backend)
      await cluster.apply([node('node1'), ...web('192.0.2.8')])
      const { trace } = await site.root('OnEndpointSliceUpdate', { 'fairlead.source': 'kpng' }, backend)
      const whole = () => {
        const { spans, ...parts } = site.traceOf(trace.traceID)
        const roots = spans.filter((span) => parentOf(span) === undefined)
        return shapeBelow({ spans, ...parts }, roots).join('\n')
      }
      // As on the page.
      await expect.poll(whole, patiently).toBe(`OnEndpointSliceUpdate
  store
  send
  OnEndpointSliceUpdate
    catalog
    route`)
      const [top] = site.traceOf(trace.traceID).spans.filter((span) => parentOf(span) === undefined)
      expect(tag(top!, 'k8s.endpointslice.name')).toBe('web-1')
      expect(tag(top!, 'k8s.resource_version')).toMatch(/^\d+$/)
      await expect
        .poll(() => site.all('syncProxyRules').some(({ root }) => linksOf(root).includes(trace.traceID)), patiently)
        .toBe(true)
    })
  },
)

function edgeOf({ below, name }: Pick<SpanRow, 'name'> & { readonly below?: string | undefined }): string {
  return below === undefined ? name : `${below} > ${name}`
}

function expectRows(spans: readonly PlacedSpan[]): void {
  for (const row of userspaceRows) {
    const { name, below } = row
    const there = spans.filter((span) => edgeOf(span) === edgeOf(row))
    expect(there).toContainEqual({ name, below, says: expect.objectContaining(row.says) as unknown })
  }
}

function names({ spans }: JaegerTrace): readonly string[] {
  return [...new Set(spans.map((span) => span.operationName))].toSorted()
}

function resourceOf({ trace, root }: Found): Readonly<Record<string, unknown>> {
  return Object.fromEntries((trace.processes[root.processID]?.tags ?? []).map(({ key, value }) => [key, value]))
}
