/** For every recorded scenario: what `fairlead explain` says about each of its flows is what packets do. */
import { expect, test } from 'vitest'
import { scenarioNames } from '../testing/golden-scenarios.ts'
import { GoldenOnNode } from './testing/explained-goldens.ts'
import { fairleadIptables, fairleadNftables } from './testing/fairlead.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { describeEach } from './testing/proxies.ts'

describeEach([fairleadNftables, fairleadIptables('nft'), fairleadUserspace('nft')], ({ mode }) => {
  test.concurrent.each(scenarioNames)('%s', async (scenario) => {
    await using golden = await GoldenOnNode.start(scenario, mode)
    const flows = golden.flows()
    expect(flows).not.toEqual([])
    const compared = await Promise.all(flows.map((flow) => golden.compare(flow)))
    expect(compared.map(({ observed }) => observed)).toEqual(compared.map(({ explained }) => explained))
  })
})
