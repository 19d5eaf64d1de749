/** For every recorded scenario: what `fairlead explain` says about each of its flows is what packets do. */
import { expect, test } from 'vitest'
import { scenarioNames } from '../testing/golden-scenarios.ts'
import { GoldenOnNode } from './testing/explained-goldens.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadIptables, fairleadNftables } from './testing/fairlead.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { describeEach } from './testing/proxies.ts'

/** In the others, clients at sockets meet what they meet through the table. */
const toldAtSockets = [
  'dual-stack',
  'external-ips-local',
  'internal-local',
  'internal-local-no-local-endpoint',
  'load-balancer-source-ranges',
  'masquerade-all',
  'multi-port-protocols',
  'no-endpoints',
  'node-port-addresses',
  'node-port-local-no-local-endpoint',
  'session-affinity',
  'terminating-fallback',
]

describeEach([fairleadNftables, fairleadIptables('nft'), fairleadEbpf, fairleadUserspace('nft')], ({ mode }) => {
  test.concurrent.each(mode === 'ebpf' ? toldAtSockets : scenarioNames)('%s', async (scenario) => {
    await using golden = await GoldenOnNode.start(scenario, mode)
    const flows = golden.flows()
    expect(flows).not.toEqual([])
    const compared = await Promise.all(flows.map((flow) => golden.compare(flow)))
    expect(compared.map(({ observed }) => observed)).toEqual(compared.map(({ explained }) => explained))
  })
})
