/** The tests that every Conntrack passes: over netlink, through the command, or in memory. */
import { describe, expect, test } from 'vitest'
import type { Flow } from '../../core/sync/stale-flows.ts'
import { flowKey } from './conntrack.ts'
import type { Conntrack } from './conntrack.ts'
import { dumpFlows, listConnections } from './testing/dump-flows.ts'
import { testFlow } from './testing/flows.ts'
import type { FlowAddresses } from './testing/flows.ts'

export interface ConntrackUnderTest {
  readonly conntrack: Conntrack
  /** Makes a UDP flow: a client sends to a service, and an endpoint is chosen. */
  readonly open: (flow: FlowAddresses) => Promise<void>
  /** The same with TCP. */
  readonly openTcp: (flow: FlowAddresses) => Promise<void>
  /** From now on the bytes of new flows are counted. */
  readonly countBytes: () => void
  /** Removes the flow from the table. */
  readonly end: (flow: FlowAddresses) => Promise<void>
}

const byFamily = {
  ipv4: {
    first: { client: '10.64.5.5:40001', service: '10.96.0.10:53', endpoint: '10.64.0.2:5353' },
    second: { client: '10.64.5.6:40002', service: '10.96.0.10:53', endpoint: '10.64.0.3:5353' },
  },
  ipv6: {
    first: { client: '[fd00:5::5]:40001', service: '[fd00:96::10]:53', endpoint: '[fd00:64::2]:5353' },
    second: { client: '[fd00:5::6]:40002', service: '[fd00:96::10]:53', endpoint: '[fd00:64::3]:5353' },
  },
} as const

/** `make` returns an empty table. */
export function conntrackContract(name: string, make: () => Promise<ConntrackUnderTest>): void {
  const { signal } = new AbortController()

  for (const family of ['ipv4', 'ipv6'] as const)
    describe(`${name}, ${family}`, () => {
      const { first, second } = byFamily[family]
      const keys = (...flows: readonly FlowAddresses[]) => new Set(flows.map((flow) => flowKey(testFlow(flow))))

      test('lists who talks to which service and who answers', async () => {
        const table = await make()
        expect(await dumpFlows(table.conntrack, family)).toEqual([])
        await table.open(first)
        await table.open(second)
        expect(keysOf(await dumpFlows(table.conntrack, family))).toEqual(keys(first, second))
      })

      test('deletes the flows that it is given, and no others', async () => {
        const table = await make()
        await table.open(first)
        await table.open(second)
        const flows = await dumpFlows(table.conntrack, family)
        const [target = ''] = keys(first)
        expect(
          await table.conntrack.delete(
            flows.filter((flow) => flowKey(flow) === target),
            signal,
          ),
        ).toBe(1)
        expect(keysOf(await dumpFlows(table.conntrack, family))).toEqual(keys(second))
      })

      test('counts a flow as deleted that is gone already', async () => {
        const table = await make()
        await table.open(first)
        await table.open(second)
        const flows = await dumpFlows(table.conntrack, family)
        await table.end(first)
        expect(await table.conntrack.delete(flows, signal)).toBe(2)
        expect(await dumpFlows(table.conntrack, family)).toEqual([])
      })

      test('leaves a flow alone that began again and is answered by somebody else now', async () => {
        const table = await make()
        await table.open(first)
        const flows = await dumpFlows(table.conntrack, family)
        await table.end(first)
        const again = { ...first, endpoint: second.endpoint }
        await table.open(again)
        expect(await table.conntrack.delete(flows, signal)).toBe(1)
        expect(keysOf(await dumpFlows(table.conntrack, family))).toEqual(keys(again))
      })

      test('lists connections of all protocols, and what each has carried if the kernel counts it', async () => {
        const table = await make()
        await table.open(first)
        await table.openTcp(second)
        const [uncounted] = (await listConnections(table.conntrack, family)).filter(({ protocol }) => protocol === 17)
        expect(uncounted).toMatchObject({ isOpen: true })
        expect(uncounted).not.toHaveProperty('bytesIn')
        table.countBytes()
        const counted = { ...first, client: second.client }
        await table.open(counted)
        const all = await listConnections(table.conntrack, family)
        const sent = { ipv4: 33, ipv6: 53 }[family]
        expect(keysOf(all)).toEqual(keys(first, { ...second, protocol: 6 }, counted))
        expect(all).toContainEqual({ ...testFlow(counted), isOpen: true, bytesIn: sent, bytesOut: 0 })
        expect(all.find(({ protocol }) => protocol === 6)).toMatchObject({ isOpen: true })
      })

      test('does not show TCP, nor the other family', async () => {
        const table = await make()
        await table.openTcp(first)
        await table.open(byFamily[family === 'ipv4' ? 'ipv6' : 'ipv4'].first)
        expect(await dumpFlows(table.conntrack, family)).toEqual([])
      })
    })

  test(`${name} deletes nothing when it is given nothing`, async () => {
    const table = await make()
    await table.open(byFamily.ipv4.first)
    expect(await table.conntrack.delete([], signal)).toBe(0)
    expect(await dumpFlows(table.conntrack, 'ipv4')).toHaveLength(1)
  })

  test(`${name} stops when it is aborted`, async () => {
    const table = await make()
    await table.open(byFamily.ipv4.first)
    const flows = await dumpFlows(table.conntrack, 'ipv4')
    const aborted = AbortSignal.abort(new Error('stopping'))
    await expect(dumpFlows(table.conntrack, 'ipv4', aborted)).rejects.toThrow('stopping')
    await expect(table.conntrack.delete(flows, aborted)).rejects.toThrow('stopping')
    expect(await dumpFlows(table.conntrack, 'ipv4')).toHaveLength(1)
  })
}

function keysOf(flows: readonly Flow[]): ReadonlySet<string> {
  return new Set(flows.map(flowKey))
}
