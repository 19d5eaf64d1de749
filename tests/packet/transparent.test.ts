/** The userspace mode where a Service wants its pods to see the client's own address. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { fairleadUserspace, startUserspace } from './testing/fairlead-userspace.ts'
import { compareFlow } from './testing/observe.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, reaches } from './testing/row.ts'
import type { Expectation, Source, Target } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'

const annotations = { 'fairlead.dev/client-address': 'transparent' }
const here = givenService('here', 1, { type: 'NodePort', endpoints: ['here-1', 'here-2'], annotations })
const both = givenService('both', 2, { type: 'NodePort', endpoints: ['here-1', 'there-1'], annotations })
const plain = givenService('plain', 3, { type: 'NodePort', endpoints: ['here-1'] })
const services = [here, both, plain]

for (const variant of ['nft', 'legacy'] as const)
  describeUnless(packetTestProblem(fairleadUserspace(variant)), `transparent connections (${variant})`, () => {
    let rig: Rig
    beforeAll(async () => {
      rig = await Rig.startWith((cluster) => startUserspace(cluster, variant, {}), services)
    })
    afterAll(() => rig?.[Symbol.asyncDispose]())

    /** What is wrong with the flow, in both families; nothing, hopefully. */
    const faults = async (from: Source, to: Target, expectation: Expectation): Promise<readonly string[]> => {
      const compared = await Promise.all(families.map((family) => compareFlow(rig, { from, to, family, expectation })))
      return compared.filter(({ observed, expected }) => observed !== expected).map(({ observed }) => observed)
    }

    test.each([
      ['a pod that uses the cluster IP', 'caller', at('cluster IP', here)],
      ['a client outside that uses a node port', 'outside', at('node port', here)],
      ['a pod that uses a node port', 'caller', at('node port', here)],
    ] as const)('pods of this node see %s', async (_, from, to) => {
      expect(await faults(from, to, reaches(['here-1', 'here-2'], 'client'))).toEqual([])
    })

    test.each(['caller', 'outside'] as const)('pods of another node see the node, not %s', async (from) => {
      const expectation: Expectation = {
        kind: 'reaches',
        each: [
          { pod: 'here-1', seenAs: 'client' },
          { pod: 'there-1', seenAs: 'node' },
        ],
      }
      expect(await faults(from, at('node port', both), expectation)).toEqual([])
    })

    test('Services that do not want it are as ever', async () => {
      expect(await faults('outside', at('node port', plain), reaches(['here-1'], 'node'))).toEqual([])
    })

    test('the node is served from its own address, also when it uses localhost', async () => {
      const fromNode = reaches(['here-1', 'here-2'], 'node')
      expect(await faults('node', at('cluster IP', here), fromNode)).toEqual([])
      expect(await faults('localhost', at('node port on localhost', here), fromNode)).toEqual([])
    })

    test('a pod that is its own client sees the node', async () => {
      const expectation: Expectation = {
        kind: 'reaches',
        each: [
          { pod: 'here-1', seenAs: 'node' },
          { pod: 'here-2', seenAs: 'client' },
        ],
      }
      expect(await faults('here-1', at('cluster IP', here), expectation)).toEqual([])
    })
  })
