/** A whole daemon on a machine in memory: what it records, from its start to a sync and what caused it. */
import { allAbilities } from '../../core/routing/mode-abilities.ts'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { nftablesTraits } from '../../backends/nftables/traits.ts'
import type { Backend } from '../../core/backend.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { SpanRecord } from '../../core/trace.ts'
import { misplacedIn, treeLines } from '../../observe/tracing/testing/recorded-trees.ts'
import type { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'
import { freePort } from '../../dataplane/relay/testing/own-loopback.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import type { Mode } from '../modes/mode.ts'
import { linuxRules } from '../modes/workings.ts'
import { runDaemon } from './run-daemon.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

const examples = fileURLToPath(new URL('../../../examples/manifests/cluster', import.meta.url))

test('the start, the first lists, each later event and each sync are traces, and syncs link to what caused them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-tracing-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await cp(examples, folder, { recursive: true })
  const { trees, clock, stop } = await runningDaemon(folder)

  await untilSeen(clock, trees, 'syncProxyRules', 2)
  const start = trees.find(({ name }) => name === 'createProxier')
  expect(start && treeLines(start, ['network.type'])).toEqual([
    'createProxier network.type=ipv4,ipv6',
    '  findNode',
    '  findFamilies',
    '  prepare',
    '  open network.type=ipv4',
    '  open network.type=ipv6',
  ])
  expect(start?.attributes).toMatchObject({
    node: 'node1',
    'proxy.mode': 'nftables',
    'proxy.host_ip': '192.0.2.1',
    'sync.period_ms': 30_000,
    'sync.min_period_ms': 1000,
  })

  await writeFile(join(folder, 'late.yaml'), lateService)
  await untilSeen(clock, trees, 'OnServiceAdd', 1)
  await untilSeen(clock, trees, 'syncProxyRules', 3)
  await stop()

  const syncs = trees.filter(({ name }) => name === 'syncProxyRules')
  const events = new Set(trees.map(({ context }) => context.spanId))
  // The first lists were there before the mode, and so before anybody could listen here.
  const later = syncs
    .flatMap(({ links }) => links)
    .filter(({ attributes }) => !String(attributes?.['event']).endsWith('Synced'))
  expect(later.filter(({ context }) => !events.has(context.spanId))).toEqual([])
  expect(syncs.map(({ links }) => links.map(({ attributes }) => attributes?.['event']))).toEqual([
    ['OnEndpointSlicesSynced', 'OnServiceSynced'],
    ['OnEndpointSlicesSynced', 'OnServiceSynced'],
    ['OnServiceAdd'],
  ])
  expect(syncs[2]?.attributes).toMatchObject({ trigger: 'change', 'network.type': 'ipv4', full: false, changes: 1 })
  expect(syncs[2]?.children.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['what the backend does', 'service health checks']),
  )
  expect(trees.flatMap(misplacedIn)).toEqual([])
})

const lateService = `
apiVersion: v1
kind: Service
metadata: { namespace: late, name: late }
spec: { clusterIP: 10.96.77.77, ports: [{ port: 80 }] }
`

async function runningDaemon(folder: string) {
  const trees: SpanRecord[] = []
  const clock = new FakeClock()
  const host = memoryHost({ clock })
  const flags = [
    `--objects=${folder}`,
    '--hostname-override=node1',
    '--node-address=192.0.2.1',
    '--proxy-mode=nftables',
  ]
  const own = [
    `--metrics-bind-address=127.0.0.1:${await freePort()}`,
    '--healthz-bind-address=',
    '--conntrack-max-per-core=0',
  ]
  const mode = recordingMode((recorder) => recorder.addSink({ finished: (root) => trees.push(root) }))
  const daemon = await memoryDaemon({ flags: [...flags, ...own], mode, host })
  const ending = new AbortController()
  const running = runDaemon(daemon, ending.signal)
  const stop = async () => {
    ending.abort()
    await running
  }
  return { trees, clock, stop }
}

/** Lets the daemon's time pass until so many trees of this name are there; files are read in real time. */
async function untilSeen(clock: FakeClock, trees: readonly SpanRecord[], name: string, count: number): Promise<void> {
  const seen = async () => {
    await clock.advance(200)
    return trees.filter((tree) => tree.name === name).length
  }
  await expect.poll(seen, { timeout: 20_000, interval: 20 }).toBe(count)
}

/** Programs nothing. */
function recordingMode(onRecorder: (recorder: TraceRecorder) => void): Mode {
  const backend: Backend = {
    name: 'nothing',
    async sync(_view, _change, _signal, span) {
      span?.child('what the backend does').end()
      return { facts: {}, failed: [] }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  return {
    name: 'nothing',
    carriesTraffic: false,
    endpointRules: 'usual',
    abilities: allAbilities,
    traits: () => nftablesTraits,
    render: () => [],
    pieces: () => [],
    onNode({ tracer }) {
      onRecorder(tracer as TraceRecorder)
      return {
        name: 'nothing',
        traits: nftablesTraits,
        ...linuxRules,
        replacesOtherModes: false,
        isOnlyOne: false,
        tracksConnections: false,
        supports: () => Promise.resolve(true),
        prepare: () => Promise.resolve(),
        createBackend: () => Promise.resolve({ backend, afterSync: [] }),
      }
    },
  }
}
