/**
 * kube-proxy and Fairlead take over from each other under load, between the modes ipvs and iptables. In one walk, as tests/packet/takeover
 * has it for the other modes: every step is one that docs/differences.md tells, there or back.
 */
import { expect, test } from 'vitest'
import { plans } from '../../packet/testing/address-plan.ts'
import type { PodName } from '../../packet/testing/address-plan.ts'
import { openTcp } from '../../packet/testing/ask.ts'
import { podPorts } from '../../packet/testing/cluster.ts'
import type { Cluster } from '../../packet/testing/cluster.ts'
import { Conversation } from '../../packet/testing/conversation.ts'
import { startFairlead } from '../../packet/testing/fairlead.ts'
import { startKubeProxy } from '../../packet/testing/kube-proxy.ts'
import { Load } from '../../packet/testing/load.ts'
import type { RunningProxy } from '../../packet/testing/proxy.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { flowsTo } from '../../packet/testing/service-faults.ts'
import { givenService, webPort } from '../../packet/testing/service-fixture.ts'
import type { ServiceFixture } from '../../packet/testing/service-fixture.ts'
import { whoAnswers } from '../../packet/testing/tally.ts'
import { fairleadIpvs, kubeProxyIpvs } from './testing/ipvs-proxies.ts'
import { virtualServers } from './testing/kernel-state.ts'

const starters = {
  'kube-proxy ipvs': (cluster: Cluster) => kubeProxyIpvs.start(cluster, {}),
  'kube-proxy iptables': (cluster: Cluster) => startKubeProxy(cluster, {}, 'legacy'),
  'Fairlead ipvs': (cluster: Cluster) => fairleadIpvs.start(cluster, {}),
  'Fairlead iptables': (cluster: Cluster) => startFairlead(cluster, { variant: 'legacy' }),
} satisfies Record<string, (cluster: Cluster) => Promise<RunningProxy>>

type Owner = keyof typeof starters

const [kpIpvs, kpIptables] = ['kube-proxy ipvs', 'kube-proxy iptables'] as const
const [ipvs, iptables] = ['Fairlead ipvs', 'Fairlead iptables'] as const

const first = kpIptables
const walk: readonly Owner[] = [ipvs, iptables, ipvs, kpIpvs, ipvs, kpIpvs, iptables]

const echoPort = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo } as const
const web = givenService('web', 1, { type: 'NodePort', ports: [webPort, echoPort], endpoints: ['here-1'] })
/** Each owner has another endpoint, which shows whose rules are at work. */
const pods = ['here-1', 'there-1', 'here-2', 'there-2'] as const
const podOf = (number: number): PodName => pods[number % pods.length] ?? 'here-1'
const webOf = (number: number): ServiceFixture => ({ ...web, endpoints: [podOf(number)] })

const patience = { timeout: 180_000, interval: 200 }
/** Leaves some of the guest's one processor to the proxies. */
const pauseMs = 20

test('no connection fails, but open ones are cut where the node leaves ipvs', { timeout: 1_500_000 }, async () => {
  await using started = new Started()
  await using rig = await Rig.startWith((cluster) => starters[first](cluster), [webOf(0)])
  const { cluster } = rig
  await using load = new Load(rig, flowsTo(web), pauseMs)
  const failed: string[] = []
  const open = new Set<{ readonly since: Owner; readonly conversation: Conversation }>()
  let [from, old]: [Owner, RunningProxy] = [first, rig.proxy]
  for (const [number, to] of walk.entries()) {
    const before = load.connections
    const echo = { ip: plans.ipv4.clusterIP(web.index), port: echoPort.port }
    const conversation = started.uses(await Conversation.start(openTcp(cluster.host('caller'), echo)))
    open.add({ since: from, conversation })
    await old.stop('SIGTERM')
    const owner = new Rig(cluster, started.uses(await starters[to](cluster)))
    await owner.program([webOf(number + 1)])
    await expect.poll(() => answering(owner), patience).toEqual([`${podOf(number + 1)}:${webPort.target}`])
    await expect.poll(() => leftovers(cluster, to), patience).toEqual([])
    await expect.poll(() => load.connections, patience).toBeGreaterThan(before + 20)
    for (const talk of open)
      await talk.conversation.goesOn().catch(() => {
        open.delete(talk)
        // Whoever leaves ipvs loses what the virtual servers carry.
        const isForeseen = to === iptables && (talk.since === ipvs || talk.since === kpIpvs)
        if (!isForeseen) failed.push(`${from} → ${to}: a connection since ${talk.since}`)
      })
    ;[from, old] = [to, owner.proxy]
  }
  await load.stop()
  expect([...failed, ...load.failures]).toEqual([])
})

/** What ends with the test. */
class Started implements AsyncDisposable {
  readonly #parts: (Disposable | AsyncDisposable)[] = []

  uses<Part extends Disposable | AsyncDisposable>(part: Part): Part {
    this.#parts.push(part)
    return part
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts)
      if (Symbol.asyncDispose in part) await part[Symbol.asyncDispose]()
      else part[Symbol.dispose]()
  }
}

/** The pods that clients inside and outside reach, in both families. */
async function answering(rig: Rig): Promise<readonly string[]> {
  const answers = await Promise.all(flowsTo(web).map(({ from, to, family }) => whoAnswers(rig, from, to, family)))
  return [...new Set(answers)]
}

/** What Fairlead still has to remove of the mode before. */
function leftovers(cluster: Cluster, owner: Owner): readonly string[] {
  const chains = cluster.node.run('iptables-legacy-save', ['-t', 'nat']).split('\n')
  if (owner === ipvs) return chains.filter((line) => line.startsWith(':KUBE-SVC'))
  return owner === iptables ? virtualServers(cluster).map(({ ip, port }) => `${ip}:${port}`) : []
}
