import { describe, expect, test } from 'vitest'
import { noLinkedCauses } from '../../core/sync/cause-links.ts'
import type { PendingSync } from '../../core/sync/route-source.ts'
import type { Route } from '../../core/route.ts'
import type { Flow } from '../../core/sync/stale-flows.ts'
import { silentLogger } from '../../core/logger.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { openNetlink } from '../netlink/open-netlink.ts'
import { missingForNamespace } from '../netlink/testing/network-namespace.ts'
import { ConntrackError } from './conntrack.ts'
import type { Conntrack } from './conntrack.ts'
import { conntrackReconciler } from './conntrack-reconciler.ts'
import { MemoryConntrack } from './memory-conntrack.ts'
import { netlinkConntrack } from './netlink-conntrack.ts'
import { dumpFlows } from './testing/dump-flows.ts'
import { testFlow } from './testing/flows.ts'
import { enterNamespaceForFlows, insertTcpFlow, openKernelFlow } from './testing/kernel-flows.ts'

const { signal } = new AbortController()

const dns = testRoute('kube-system/dns', {
  protocol: 'UDP',
  clusterIP: '10.96.0.10',
  port: 53,
  endpoints: [testEndpoint('10.64.0.2', 5353)],
})
const web = testRoute('demo/web', { endpoints: [testEndpoint('10.64.0.7', 80)] })

const flow = (client: string, endpoint: string, service = '10.96.0.10:53') => testFlow({ client, service, endpoint })
const good = flow('10.64.5.5:1', '10.64.0.2:5353')
const stale = [2, 3, 4, 5, 6].map((port) => flow(`10.64.5.5:${port}`, '10.64.0.9:5353'))
const foreign = flow('10.64.5.5:7', '192.0.2.1:99', '192.0.2.1:99')

function reconcilerOf(conntrack: Pick<Conntrack, 'dump' | 'delete'>) {
  const log = new RecordingLogger()
  const reconciled: unknown[] = []
  let now = 0
  const reconciler = conntrackReconciler({
    conntrack,
    clock: { monotonic: () => (now += 250) },
    log,
    metrics: { reconciled: (family, result) => reconciled.push({ family, ...result }) },
  })
  return { reconciler, reconciled, log }
}

function synced(needsConntrackCleanup: boolean, ...routes: readonly Route[]): PendingSync {
  const change = { full: false, keys: [], causes: [] }
  return {
    view: testView(...routes),
    change,
    triggerTimesMs: [],
    removals: [],
    needsConntrackCleanup,
    causedBy: noLinkedCauses,
  }
}

function tableOf(...flows: readonly Flow[]): MemoryConntrack {
  const conntrack = new MemoryConntrack()
  conntrack.add(...flows)
  return conntrack
}

test('flows to an endpoint that is gone are deleted, all others stay', async () => {
  const conntrack = tableOf(good, ...stale, foreign)
  const { reconciler, reconciled, log } = reconcilerOf(conntrack)
  await reconciler.run(synced(true, dns, web), signal)
  expect(conntrack.flows).toEqual([good, foreign])
  expect(reconciled).toEqual([{ family: 'ipv4', seconds: 0.25, deleted: 5 }])
  expect(log.at('debug2')).toMatchObject([{ fields: { family: 'ipv4', deleted: 5 } }])
})

test('nobody looks at the table after a sync without UDP changes', async () => {
  const conntrack = tableOf(...stale)
  const { reconciler, reconciled } = reconcilerOf(conntrack)
  await reconciler.run(synced(false, dns), signal)
  expect(conntrack.dumpCount).toBe(0)
  expect(reconciled).toEqual([])
})

test('nobody looks at the table for a node without UDP services', async () => {
  const conntrack = tableOf(...stale)
  const { reconciler } = reconcilerOf(conntrack)
  await reconciler.run(synced(true, web), signal)
  expect(conntrack.dumpCount).toBe(0)
})

test('nothing is deleted when nothing is stale', async () => {
  const conntrack = tableOf(good, foreign)
  conntrack.refuseDeleteWith = new ConntrackError('failed', 'it was asked to delete')
  const { reconciler, reconciled, log } = reconcilerOf(conntrack)
  await reconciler.run(synced(true, dns), signal)
  expect(reconciled).toEqual([{ family: 'ipv4', seconds: 0.25, deleted: 0 }])
  expect(log.at('warn')).toEqual([])
})

describe('the sync is fine, whatever happens here', () => {
  test('a table that cannot be read to its end deletes nothing and measures nothing', async () => {
    const conntrack = tableOf(...stale)
    conntrack.refuseDumpWith = new ConntrackError('not-permitted', 'run as root')
    const { reconciler, reconciled, log } = reconcilerOf(conntrack)
    await reconciler.run(synced(true, dns), signal)
    expect(conntrack.flows).toEqual(stale)
    expect(reconciled).toEqual([])
    expect(log.at('warn')).toMatchObject([
      { message: 'cannot look for stale UDP flows', fields: { family: 'ipv4', error: { reason: 'not-permitted' } } },
    ])
  })

  test('a deletion that fails half-way counts what it did', async () => {
    const conntrack = tableOf(...stale)
    conntrack.refuseDeleteWith = new ConntrackError('failed', 'no more', { deleted: 2 })
    const { reconciler, reconciled, log } = reconcilerOf(conntrack)
    await reconciler.run(synced(true, dns), signal)
    expect(reconciled).toEqual([{ family: 'ipv4', seconds: 0.25, deleted: 2 }])
    expect(log.at('warn')).toMatchObject([{ fields: { family: 'ipv4', stale: 5, deleted: 2 } }])
  })

  test('stopping is not worth a warning', async () => {
    const { reconciler, reconciled, log } = reconcilerOf(tableOf(...stale))
    await reconciler.run(synced(true, dns), AbortSignal.abort(new Error('stopping')))
    expect(log.lines).toEqual([])
    expect(reconciled).toEqual([])
  })
})

describe('a large table', () => {
  /** 1,000,000 flows, one of them stale. They are made as they are read, so that only the reader can hold them all. */
  async function* million(): AsyncGenerator<readonly Flow[]> {
    for (let batch = 0; batch < 1000; batch++) {
      const flows = Array.from({ length: 1000 }, (_, index) => flow(`10.64.5.5:${index}`, '10.64.0.2:5353'))
      yield batch === 700 ? [...flows.slice(1), ...stale.slice(0, 1)] : flows
    }
  }

  test('with one stale flow in a million gets exactly one deletion', async () => {
    const deletions: (readonly Flow[])[] = []
    const { reconciler, reconciled } = reconcilerOf({
      dump: million,
      delete: async (flows) => deletions.push(flows) && flows.length,
    })
    await reconciler.run(synced(true, dns, web), signal)
    expect(deletions).toEqual([stale.slice(0, 1)])
    expect(reconciled).toMatchObject([{ deleted: 1 }])
  })

  test('that shows a flow twice because it changed gets one deletion of it', async () => {
    const deletions: (readonly Flow[])[] = []
    const { reconciler } = reconcilerOf({
      async *dump() {
        yield stale
        yield stale
      },
      delete: async (flows) => deletions.push(flows) && flows.length,
    })
    await reconciler.run(synced(true, dns), signal)
    expect(deletions).toEqual([stale])
  })
})

const missing = missingForNamespace('ip', 'iptables', 'ip6tables', 'conntrack')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  test('a client whose endpoint went away is sent to the new one with its next datagram', async () => {
    enterNamespaceForFlows()
    const client = { client: '10.64.5.5:40001', service: '10.96.0.10:53' }
    const other = { client: '10.64.5.6:40001', service: '10.96.0.10:53', endpoint: '10.64.0.2:5353' }
    await openKernelFlow({ ...client, endpoint: '10.64.0.9:5353' })
    await openKernelFlow(other)
    insertTcpFlow({ ...client, endpoint: '10.64.0.9:5353' })
    // New rules do not change a flow that the kernel tracks already.
    await openKernelFlow({ ...client, endpoint: '10.64.0.2:5353' })
    const conntrack = netlinkConntrack({ open: openNetlink, log: silentLogger })
    const answerers = async () => (await dumpFlows(conntrack)).map(({ reply }) => reply.sourceIp).sort()
    expect(await answerers()).toEqual(['10.64.0.2', '10.64.0.9'])

    const { reconciler, reconciled } = reconcilerOf(conntrack)
    await reconciler.run(synced(true, dns), signal)
    expect(reconciled).toMatchObject([{ deleted: 1 }])
    await openKernelFlow({ ...client, endpoint: '10.64.0.2:5353' })
    expect(await answerers()).toEqual(['10.64.0.2', '10.64.0.2'])
  })
})
