/** The nftables mode on a real kernel: what the backend writes equals what nft makes of the rendered script. */
import { describe, expect, test } from 'vitest'
import { NftablesBackend } from '../src/backends/nftables/nftables-backend.ts'
import { planNftables } from '../src/backends/nftables/plan.ts'
import { renderPlan } from '../src/backends/nftables/render.ts'
import type { NftablesState } from '../src/backends/nftables/settings.ts'
import type { NodeView } from '../src/core/backend.ts'
import { systemClock } from '../src/core/clock.ts'
import { RecordingLogger } from '../src/core/testing/recording-logger.ts'
import { processExec as exec } from '../src/dataplane/exec/exec.ts'
import { openDatagrams } from '../src/dataplane/netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../src/dataplane/netlink/testing/network-namespace.ts'
import { NftTables } from '../src/dataplane/nft/nft-tables.ts'
import type { Family } from '../src/net/ip.ts'
import { families } from '../src/net/ip.ts'
import { scenarioNames } from './testing/golden-scenarios.ts'
import { scenarioView } from './testing/scenario-view.ts'

const { signal } = new AbortController()
const missing = missingForNamespace('ip', 'nft')

describe.skipIf(missing !== undefined)(`on a kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  for (const family of families) {
    test(`every scenario is as nft would write it, from nothing and from any other scenario, ${family}`, async () => {
      const views = await Promise.all(scenarioNames.map((scenario) => scenarioView(scenario, family)))
      const wanted = views.map((view) => byNft(view, state(family)))
      enterFreshNamespace()
      const { log } = await using(family, async (backend) => {
        let before: NodeView | undefined
        for (const [index, view] of views.entries()) {
          const keys = [...new Set([...(before?.routesByKey.keys() ?? []), ...view.routesByKey.keys()])]
          // Every third one is written in full.
          await backend.sync(view, { full: index % 3 === 0, keys, causes: [] }, signal)
          expect([scenarioNames[index], ...listing(family)]).toEqual([scenarioNames[index], ...(wanted[index] ?? [])])
          before = view
        }
      })
      expect(log).toEqual([])
    })

    test(`a new process finds everything in place, ${family}`, async () => {
      enterFreshNamespace()
      const view = await scenarioView('load-balancer-local', family)
      const sync = () =>
        using(family, (backend) =>
          backend.sync(view, { full: true, keys: [...view.routesByKey.keys()], causes: [] }, signal),
        )
      await sync()
      const { result, log } = await sync()
      expect(result.facts).toEqual({ elements: 0 })
      expect(log).toEqual([])
    })
  }
})

async function using<T>(family: Family, work: (backend: NftablesBackend) => Promise<T>) {
  const log = new RecordingLogger()
  await using backend = new NftablesBackend({
    family,
    table: await new NftTables({ exec, openDatagrams }).open(family, log, signal),
    state: () => state(family),
    countsConnections: () => true,
    metrics: { syncFailed: () => {}, cleanupFailed: () => {} },
    clock: systemClock,
    log,
  })
  return { result: await work(backend), log: log.at('warn') }
}

function state(family: Family): NftablesState {
  return {
    settings: {
      family,
      localTraffic: { kind: 'cidr', cidr: family === 'ipv4' ? '10.64.0.0/10' : 'fd00:64::/48' },
      masqueradeAll: false,
      countsEndpoints: true,
      masqueradeMark: '0x00004000',
      limitsNodePorts: true,
    },
    nodePortIps: [family === 'ipv4' ? '10.200.0.2' : 'fd00:200::2'],
  }
}

function byNft(view: NodeView, settings: NftablesState): readonly string[] {
  enterFreshNamespace()
  run(`nft -f - <<'end'\n${renderPlan(planNftables(view, settings))}end`)
  return listing(view.family)
}

/** Chains, sets and elements in an order of their own: that of nft is the order in which they came. */
function listing(family: Family): readonly string[] {
  const text = run(`nft list table ${family === 'ipv4' ? 'ip' : 'ip6'} fairlead`)
  const blocks = text.match(/^\t(?:chain|set|map) [\s\S]*?^\t\}/gm) ?? []
  return blocks
    .map((block) => block.replace(/elements = \{([^}]*)\}/, (_all, list: string) => sortedElements(list)))
    .toSorted()
}

function sortedElements(list: string): string {
  return list
    .split(',')
    .map((element) => element.replaceAll(/\s+/g, ' ').trim())
    .toSorted()
    .join('\n')
}
