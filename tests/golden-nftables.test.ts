/**
 * The nftables mode against kube-proxy 1.36, in all recorded scenarios. The tables look nothing alike, so packets are
 * walked through both: through the one that was recorded, through ours, and through what the specification says.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { planNftables } from '../src/backends/nftables/plan.ts'
import { renderPlan } from '../src/backends/nftables/render.ts'
import { currentState } from '../src/backends/nftables/settings.ts'
import type { NftablesState } from '../src/backends/nftables/settings.ts'
import { endingsOf } from '../src/backends/nftables/testing/evaluate-packet.ts'
import { ExpectedFates } from '../src/backends/nftables/testing/expected-fate.ts'
import { fateOf } from '../src/backends/nftables/testing/fate.ts'
import { describePacket } from '../src/backends/nftables/testing/packet.ts'
import type { PacketNode } from '../src/backends/nftables/testing/packet.ts'
import { packetsFor } from '../src/backends/nftables/testing/packets.ts'
import type { Sender } from '../src/backends/nftables/testing/packets.ts'
import { RecordingTable } from '../src/backends/nftables/testing/recording-table.ts'
import { replacement } from '../src/backends/nftables/whole-table.ts'
import type { NodeView } from '../src/core/backend.ts'
import { localTraffic } from '../src/core/node/local-traffic.ts'
import { expandPrimary } from '../src/core/node/node-port-addresses.ts'
import type { Family } from '../src/net/ip.ts'
import { families } from '../src/net/ip.ts'
import { configPath, golden, scenarioNames } from './testing/golden-scenarios.ts'
import { parseListing } from './testing/nft-listing.ts'
import { nodeIps, scenarioView } from './testing/scenario-view.ts'

const never = new AbortController().signal
const cases = scenarioNames.flatMap((scenario) => families.map((family) => ({ scenario, family })))

/** The machine that kube-proxy ran on. */
const localIps = { ipv4: ['10.200.0.2'], ipv6: ['fe80::2'] }
const serviceCidrs = { ipv4: ['10.96.0.0/12'], ipv6: ['fd00:10:96::/112'] }
/** Not allocated, not of this node, of nobody. */
const strangers = {
  ipv4: ['10.96.200.200', '10.200.0.3', '192.0.2.200'],
  ipv6: ['fd00:10:96::abc', 'fe80::3', '2001:db8::200'],
}
const clients = {
  ipv4: ['203.0.113.9', '198.51.100.7', '198.18.0.1', '10.64.0.250', '10.64.7.250'],
  ipv6: ['2001:db8::9', 'fd00:64::250'],
}

async function load(scenario: string, family: Family): Promise<{ view: NodeView; state: NftablesState }> {
  const config = JSON.parse(readFileSync(configPath(scenario), 'utf8'))
  const state = currentState({
    family,
    localTraffic: localTraffic({
      mode: 'ClusterCIDR',
      clusterCIDRs: config.clusterCIDR.split(','),
      podCIDRs: [],
      bridgeInterface: '',
      interfaceNamePrefix: '',
    })[family],
    masqueradeAll: config.nftables?.masqueradeAll ?? false,
    masqueradeMark: '0x00004000',
    nodePortAddresses: expandPrimary(config.nodePortAddresses ?? ['primary'], nodeIps),
    localIps: () => localIps[family],
  })
  return { view: { ...(await scenarioView(scenario, family)), serviceCidrs: serviceCidrs[family] }, state }
}

function sendersFor(view: NodeView): readonly Sender[] {
  const endpoints = [...view.routesByKey.values()].flatMap((route) => route.endpoints)
  return [
    ...new Map(endpoints.map(({ ip, isLocal }) => [ip, { ip, inInterface: isLocal ? 'veth1' : 'eth0' }])).values(),
    ...clients[view.family].map((ip) => ({ ip, inInterface: 'eth0' })),
  ]
}

describe.each(cases)('"$scenario", $family', ({ scenario, family }) => {
  test('sends every packet where kube-proxy sends it', async () => {
    const { view, state } = await load(scenario, family)
    const node: PacketNode = { family, localIps: localIps[family] }
    const table = new RecordingTable()
    await table.commit(replacement(planNftables(view, state)), never)
    const ours = await table.ruleset()
    const theirs = parseListing(golden(scenario, 'nft-ruleset.txt'), `${family === 'ipv4' ? 'ip' : 'ip6'} kube-proxy`)
    if (theirs === undefined) throw new Error('the recorded ruleset has no such table')
    const expected = new ExpectedFates(view, state, node)
    const packets = packetsFor(view, { node, senders: sendersFor(view), strangers: strangers[family] })
    const fates = packets.map((packet) => ({
      packet: describePacket(packet),
      ours: fateOf(endingsOf(ours, node, packet)),
      theirs: fateOf(endingsOf(theirs, node, packet)),
      specified: expected.of(packet),
    }))
    expect(fates.map(({ packet, ours: fate }) => [packet, fate])).toEqual(
      fates.map(({ packet, theirs: fate }) => [packet, fate]),
    )
    expect(fates.map(({ packet, ours: fate }) => [packet, fate])).toEqual(
      fates.map(({ packet, specified: fate }) => [packet, fate]),
    )
  })
})

/** Why the kernel cannot be asked here; undefined when it can. */
function obstacle(): string | undefined {
  try {
    execFileSync('unshare', ['-n', 'nft', 'list', 'ruleset'], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `needs root, unshare and nft: ${String(error).split('\n')[0]}`
  }
}

const why = obstacle()
const note = why === undefined ? '' : ` (skipped: ${why})`

describe.skipIf(why !== undefined)(`the kernel${note}`, () => {
  test.each(families)('takes the rendered script of every scenario, one after the other (%s)', async (family) => {
    const scripts: string[] = []
    for (const scenario of scenarioNames) {
      const { view, state } = await load(scenario, family)
      scripts.push(`echo ${scenario}\nnft -f - <<'END'\n${renderPlan(planNftables(view, state))}END\n`)
    }
    const options = { input: scripts.join(''), encoding: 'utf8', stdio: 'pipe' } as const
    const taken = execFileSync('unshare', ['-n', 'sh', '-e'], options)
    expect(taken.trim().split('\n')).toEqual(scenarioNames)
  })
})
