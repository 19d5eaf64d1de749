/** `--ebpf-untracked-pods`: the node forgets connections between pods, and nobody's answer is lost for it. */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { ask, openTcp } from './testing/ask.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Source, Target } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'
import { endsByItself, processOf } from './testing/upgrade.ts'

const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const web = givenService('web', 1, { endpoints: ['here-1'] })
const sticky = givenService('sticky', 2, { type: 'NodePort', affinitySeconds: 10_800, endpoints: ['here-1'] })
const packets = givenService('packets', 3, {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  ports: [webPort, dnsPort],
  endpoints: ['here-1'],
  annotations: { 'fairlead.dev/socket-balancing': 'off' },
})
const remote = givenService('remote', 4, { affinitySeconds: 10_800, endpoints: ['there-1'] })
/** Addresses of Services, external ones, too, are in the same range as pods. */
const wide = '--ebpf-untracked-pods=10.0.0.0/8,fd00::/16'
const pooled = { ipv4: '10.200.0.5', ipv6: 'fd00:200::5' } as const
const pool = givenService('pool', 5, {
  takesAsExternalIPs: ({ family }) => [pooled[family]],
  ports: [webPort, dnsPort],
  endpoints: ['here-1', 'there-1'],
  annotations: { 'fairlead.dev/socket-balancing': 'off' },
})
const empty = givenService('empty', 6, { annotations: { 'fairlead.dev/socket-balancing': 'off' } })
const soon = { timeout: 40_000, interval: 50 }
const untracked = `--ebpf-untracked-pods=${families.map((family) => plans[family].podRange).join(',')}`

describeUnless(packetTestProblem(fairleadEbpf), 'pods whose connections are not tracked', () => {
  const start = (services: readonly ServiceFixture[], ...flags: readonly string[]) =>
    Rig.startWith((cluster) => startEbpf(cluster, {}, flags), services)

  test('what hooks translate leaves no connection behind, and what others open does', async () => {
    await using rig = await start([web], untracked)
    for (const family of families) {
      expect(await trackedBy(rig, 'caller', family)).toBe(false)
      expect(await trackedBy(rig, 'node', family)).toBe(true)
    }
    expect(rig.proxy.log()).toContain('connections between pods are not tracked')
  })

  test('what is left to nftables is answered, and sees the node instead of the pod', async () => {
    await using rig = await start([sticky, packets, remote], untracked)
    // Where pods are at a bridge, the node has an address among theirs, and what it masqueraded comes back to that.
    rig.cluster.node.ip(...families.map((family) => `address add ${bridgeOf(family)} dev pod-here-1`))
    for (const family of families) {
      for (const target of [
        at('cluster IP', sticky),
        at('node port', sticky),
        at('VIP', packets),
        { ...at('cluster IP', packets), port: dnsPort },
      ]) {
        expect(await seenBy(rig, 'caller', target, family)).toBe('node')
        expect(await seenBy(rig, 'node', target, family)).toBe('node')
        // A pod that reaches itself.
        expect(await seenBy(rig, 'here-1', target, family)).toBe('node')
      }
      expect(await seenBy(rig, 'caller', at('cluster IP', remote), family)).toBe('node')
      expect(await seenBy(rig, 'outside', at('VIP', packets), family)).toBe('client')
      expect(await seenBy(rig, 'outside', at('node port', sticky), family)).toBe('node')
    }
  })

  test('a range may contain Services: what is left to nftables is answered there, too', async () => {
    await using rig = await start([web, sticky, remote, pool, empty], wide)
    for (const family of families) {
      for (const service of [sticky, remote, pool])
        expect(await seenBy(rig, 'caller', at('cluster IP', service), family)).toBe('node')
      expect(await seenBy(rig, 'caller', at('cluster IP', empty), family)).toBe('refused')
      for (const [transport, port] of [['tcp', 80] as const, ['udp', 53] as const])
        expect(
          await ask(rig.cluster.host('caller'), { transport, ip: pooled[family], port, patienceMs: 10_000 }),
        ).toMatchObject({ kind: 'answer', answer: { answeredBy: expect.stringMatching(/^(here|there)-1$/) as string } })
      expect(await trackedBy(rig, 'caller', family)).toBe(false)
    }
  })

  test('a new process with the flag, or without it, changes what is there', async () => {
    await using rig = await start([web, packets])
    const outcome = async () => [
      await trackedBy(rig, 'caller', 'ipv4'),
      await seenBy(rig, 'caller', at('VIP', packets), 'ipv4'),
    ]
    const hasChain = () => rig.cluster.node.run('nft', ['list', 'chains']).includes('prerouting-raw')
    expect(await outcome()).toEqual([true, 'client'])
    const second = processOf(rig).second([untracked, '--take-over'])
    {
      await using _second = second
      second.run()
      await endsByItself(processOf(rig))
      expect(hasChain()).toBe(true)
      expect(await outcome()).toEqual([false, 'node'])
    }
    rig.proxy.run()
    await expect.poll(hasChain, soon).toBe(false)
    expect(await outcome()).toEqual([true, 'client'])
  })
})

function bridgeOf(family: Family): string {
  const [ip] = plans[family].localPodRange.split('/')
  return family === 'ipv4' ? `${ip?.replace(/0$/, '1')}/24` : `${ip}1/64 nodad`
}

/** Whether the node remembers a connection that is open. */
async function trackedBy(rig: Rig, from: 'caller' | 'node', family: Family): Promise<boolean> {
  const client = from === 'node' ? rig.cluster.node : rig.cluster.host(from)
  const socket = openTcp(client, addressOf(at('cluster IP', web), family))
  await once(socket, 'connect')
  const listed = rig.cluster.node.run('conntrack', ['-L', '-f', family, '-p', 'tcp', '--sport', `${socket.localPort}`])
  socket.destroy()
  return listed.includes(`dst=${plans[family].hosts['here-1']} `)
}

async function seenBy(rig: Rig, from: Source, target: Target, family: Family): Promise<string> {
  const outcome = await rig.ask(from, target, family, 10_000)
  if (outcome.kind !== 'answer') return outcome.kind
  return outcome.answer.sawSource === rig.whoIs(from, target, family).ip && from !== 'node' ? 'client' : 'node'
}
