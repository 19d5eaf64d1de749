/**
 * kube-proxy and Fairlead take over from each other under load, from every mode of the one to every mode of the other.
 * One walk leads over all pairs, so that every proxy that is started serves twice: as the new one, then as the old one.
 */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { plans } from './testing/address-plan.ts'
import type { PodName } from './testing/address-plan.ts'
import { openTcp } from './testing/ask.ts'
import { orphanedChains } from './testing/chains.ts'
import { podPorts } from './testing/cluster.ts'
import type { Cluster } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { cleanUp, FairleadProcess, fairleadProgram, startFairleadNftables } from './testing/fairlead.ts'
import { EbpfPlace, fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { startUserspace } from './testing/fairlead-userspace.ts'
import { chooseVariant } from './testing/iptables-variant.ts'
import type { IptablesVariant } from './testing/iptables-variant.ts'
import { kubeProxyIptables, kubeProxyNftables, startKubeProxy, startKubeProxyNftables } from './testing/kube-proxy.ts'
import { Load } from './testing/load.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { proxyFlags } from './testing/proxy-flags.ts'
import type { ProxyMode, RunningProxy } from './testing/proxy.ts'
import { Rig } from './testing/rig.ts'
import { flowsTo } from './testing/service-faults.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'
import { whoAnswers } from './testing/tally.ts'

type Start = (cluster: Cluster, variant: IptablesVariant, place?: EbpfPlace) => Promise<RunningProxy>

const starters = {
  'kube-proxy iptables': (cluster, variant) => startKubeProxy(cluster, {}, variant),
  'kube-proxy nftables': (cluster) => startKubeProxyNftables(cluster, {}),
  'Fairlead iptables': (cluster, variant, place) => {
    chooseVariant(cluster.node, variant)
    return fairlead('iptables', cluster, place)
  },
  'Fairlead nftables': (cluster, _, place) => fairlead('nftables', cluster, place),
  'Fairlead ebpf': (cluster, _, place) => fairlead('ebpf', cluster, place),
  'Fairlead userspace': (cluster, variant) => startUserspace(cluster, variant, {}),
} satisfies Record<string, Start>

/** In every mode it knows where programs at sockets may be pinned. */
async function fairlead(mode: ProxyMode, cluster: Cluster, place?: EbpfPlace): Promise<RunningProxy> {
  return new FairleadProcess(cluster, [...proxyFlags(mode, {}), ...flagsOf(place)], await TemporaryFolder.make(), {})
}

function flagsOf(place: EbpfPlace | undefined): readonly string[] {
  return place === undefined ? [] : [`--ebpf-cgroup=${place.cgroup.path}`, ...pinsOf(place)]
}

function pinsOf(place: EbpfPlace | undefined): readonly string[] {
  return place === undefined ? [] : [`--ebpf-pins=${place.pins}`]
}

type Owner = keyof typeof starters

const [kpIptables, kpNftables] = ['kube-proxy iptables', 'kube-proxy nftables'] as const
const [iptables, nftables, userspace] = ['Fairlead iptables', 'Fairlead nftables', 'Fairlead userspace'] as const
const ebpf = 'Fairlead ebpf'

/**
 * With iptables-nft every pair. The last step is the only one that loses new connections; the packets that it leaves to
 * themselves are remembered by conntrack, and would make later steps fail. The steps before it are the way around.
 */
const everyPair: readonly Owner[] = [
  kpNftables,
  nftables,
  kpIptables,
  nftables,
  kpNftables,
  iptables,
  kpIptables,
  userspace,
  kpNftables,
  userspace,
  kpIptables,
  iptables,
  nftables,
  kpNftables,
  iptables,
  kpNftables,
]
/** With programs at sockets: those of a node that tries the mode, and goes back. */
const pairsOfEbpf: readonly Owner[] = [kpIptables, ebpf, kpNftables, ebpf, nftables, ebpf, iptables, ebpf, kpIptables]
/** With iptables-legacy those in which its rules come or go. */
const pairsOfLegacy: readonly Owner[] = [kpIptables, iptables, kpIptables, userspace, kpIptables, nftables, kpIptables]

test('the walk has every pair of kube-proxy and Fairlead, both ways', () => {
  const steps = everyPair.map((owner, number) => `${everyPair[number - 1]} → ${owner}`)
  for (const kubeProxy of [kpIptables, kpNftables])
    for (const fairlead of [iptables, nftables, userspace])
      expect(steps).toEqual(expect.arrayContaining([`${kubeProxy} → ${fairlead}`, `${fairlead} → ${kubeProxy}`]))
})

test('the walk of ebpf has every pair with the modes beside it, both ways', () => {
  const steps = pairsOfEbpf.map((owner, number) => `${pairsOfEbpf[number - 1]} → ${owner}`)
  for (const other of [kpIptables, kpNftables, nftables, iptables])
    expect(steps).toEqual(expect.arrayContaining([`${other} → ${ebpf}`, `${ebpf} → ${other}`]))
})

const echoPort = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo } as const
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1'] })
/** Each owner has another endpoint, which shows whose rules are at work. */
const pods = ['here-1', 'there-1', 'here-2', 'there-2'] as const
const podOf = (number: number): PodName => pods[number % pods.length] ?? 'here-1'
const webOf = (number: number): ServiceFixture => ({ ...web, endpoints: [podOf(number)] })

for (const [variant, walk] of [
  ['nft', everyPair],
  ['legacy', pairsOfLegacy],
] as const)
  describeUnless(packetTestProblem(kubeProxyIptables(variant)), `kube-proxy and Fairlead (${variant})`, () => {
    test('each takes over from the other, and no connection fails but those that docs/migrate.md names', async () => {
      const failures = await takeTurns(walk, variant)
      expect(failures.some((failure) => untouched.test(failure))).toBe(walk === everyPair)
    })
  })

describeUnless(
  packetTestProblem(kubeProxyIptables('nft')) ?? packetTestProblem(fairleadEbpf),
  'programs at sockets',
  () => {
    test('they come and go under load, and no connection fails', async () => {
      await using place = new EbpfPlace()
      expect(await takeTurns(pairsOfEbpf, 'nft', place)).toEqual([])
    })
  },
)

/** Returns the connections that failed, all of them as docs/migrate.md says. */
async function takeTurns(
  walk: readonly Owner[],
  variant: IptablesVariant,
  place?: EbpfPlace,
): Promise<readonly string[]> {
  const start = (owner: Owner, cluster: Cluster) => {
    if (place !== undefined) cluster.useCgroup(place.cgroup)
    return starters[owner](cluster, variant, place)
  }
  const [first = kpIptables, ...rest] = walk
  await using rig = await Rig.startWith((cluster) => start(first, cluster), [webOf(0)])
  const { cluster } = rig
  await using load = new Load(rig, flowsTo(web), pauseMs)
  await using started = new Started()
  let [from, old]: [Owner, RunningProxy] = [first, rig.proxy]
  await started.talk(cluster, first)
  for (const [number, to] of rest.entries()) {
    const [before, failedBefore] = [load.connections, load.failures.length]
    // The relay takes its rules with it, so the next one must be there before it goes.
    if (from !== userspace) await old.stop('SIGTERM')
    const owner = new Rig(cluster, started.proxy(await start(to, cluster)))
    await owner.program([webOf(number + 1)])
    await old.stop('SIGTERM')
    if ((from === nftables || from === ebpf) && isKubeProxy(to)) removeOurTables(cluster, place)
    await expect.poll(() => answering(owner), patience).toEqual([`${podOf(number + 1)}:${webPort.target}`])
    await expect.poll(() => leftovers(cluster, to, variant, place), patience).toEqual([])
    await expect.poll(() => load.connections, patience).toBeGreaterThan(before + 20)
    expect(unforeseen(load.failures.slice(failedBefore), from, to)).toEqual([])
    // The kernel remembers where the connections of its own modes go, whatever the rules are now.
    for (const { carrier, conversation } of started.talks) if (carrier !== userspace) await conversation.goesOn()
    await expect.poll(() => started.openRelayed(), patience).toBe(0)
    await started.talk(cluster, to)
    ;[from, old] = [to, owner.proxy]
  }
  await load.stop()
  return load.failures
}

describeUnless(packetTestProblem(kubeProxyNftables), 'nftables', () => {
  test('a clean-up leaves nothing of either', async () => {
    await using rig = await Rig.startWith((cluster) => startKubeProxyNftables(cluster, {}), [web])
    const { cluster } = rig
    await rig.proxy.stop('SIGTERM')
    await using fairlead = await startFairleadNftables(cluster, {})
    await new Rig(cluster, fairlead).program([web])
    await fairlead.stop('SIGTERM')
    expect(cluster.node.run('nft', ['list', 'tables'])).toContain('table ip fairlead')
    cleanUp(cluster)
    expect(cluster.node.run('nft', ['list', 'tables'])).not.toMatch(/fairlead|kube-proxy/)
  })
})

/** Some for each client, and the machine has other work too. */
const pauseMs = 5
const patience = { timeout: 40_000, interval: 50 }

/** What ends with the test. */
class Started implements AsyncDisposable {
  readonly talks: { readonly carrier: Owner; readonly conversation: Conversation }[] = []
  readonly #proxies: RunningProxy[] = []

  proxy(started: RunningProxy): RunningProxy {
    this.#proxies.push(started)
    return started
  }

  /** A long connection that begins while this owner has the node. */
  async talk(cluster: Cluster, carrier: Owner): Promise<void> {
    const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
    const conversation = await Conversation.start(openTcp(cluster.host('caller'), echo))
    this.talks.push({ carrier, conversation })
    await conversation.goesOn()
  }

  openRelayed(): number {
    return this.talks.filter(({ carrier, conversation }) => carrier === userspace && conversation.isOpen).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { conversation } of this.talks) conversation[Symbol.dispose]()
    for (const proxy of this.#proxies) await proxy[Symbol.asyncDispose]()
  }
}

function isKubeProxy(owner: Owner): boolean {
  return owner === kpIptables || owner === kpNftables
}

/** As docs/migrate.md says it: kube-proxy does not know these tables, and a whole clean-up would take its rules too. */
function removeOurTables({ node }: Cluster, place?: EbpfPlace): void {
  node.run(process.execPath, [fairleadProgram, '--cleanup', '--only-own-tables', ...pinsOf(place)])
}

/** The pods that clients inside and outside reach, in both families. */
async function answering(rig: Rig): Promise<readonly string[]> {
  const answers = await Promise.all(flowsTo(web).map(({ from, to, family }) => whoAnswers(rig, from, to, family)))
  return [...new Set(answers)]
}

/** Nobody translated the address: outside of the cluster somebody else has it, and on the node nobody listens. */
const untouched = /beyond|refused/
const cut = /ECONNRESET|no answer/

/** Those of a step that docs/migrate.md does not name. */
function unforeseen(failures: readonly string[], from: Owner, to: Owner): readonly string[] {
  const told = failures.map((failure) => `${from} → ${to}: ${failure}`)
  // kube-proxy removes all rules of the iptables mode before it writes its own.
  if (from === iptables && to === kpNftables) return told.filter((failure) => !untouched.test(failure))
  // What the relay carries when it ends: at most one connection of each client.
  if (from === userspace && failures.length <= flowsTo(web).length) return told.filter((failure) => !cut.test(failure))
  return told
}

/** What Fairlead still has to remove of the proxy before it, and of its own mode. */
function leftovers({ node }: Cluster, owner: Owner, variant: IptablesVariant, place?: EbpfPlace): readonly string[] {
  if (place !== undefined && owner !== ebpf && existsSync(place.pins)) return [place.pins]
  if (isKubeProxy(owner)) return []
  const tables = node
    .run('nft', ['list', 'tables'])
    .split('\n')
    .filter((table) => table.endsWith(' kube-proxy'))
  if (owner === iptables) return [...tables, ...orphanedChains(node, variant)]
  const saved = node.run(`iptables-${variant}-save`, ['-t', 'nat'])
  return [...tables, ...saved.split('\n').filter((line) => line.startsWith(':KUBE-SERVICES '))]
}
