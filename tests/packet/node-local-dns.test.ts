/** NodeLocal DNSCache: a program of the node listens at the cluster IP of the DNS Service, and answers instead of it. */
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { ask } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { listenTcp, listenUdp } from './testing/echo-server.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadNftables } from './testing/fairlead.ts'
import { describeEach } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'

const dnsUdp = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp } as const
const dnsTcp = { name: 'dns-tcp', protocol: 'TCP', port: 53, target: podPorts.dnsTcp } as const
const dns = givenService('dns', 4, { ports: [dnsUdp, dnsTcp], endpoints: ['here-1'] })
const soon = { timeout: 40_000, interval: 50 }

const clusterIPs = families.map((family) => plans[family].clusterIP(dns.index))
const [ipv4 = '', ipv6 = ''] = clusterIPs
/** What the cache asks of the node: nobody tracks, and so nobody translates, what goes to it and comes from it. */
const untracked = `table inet cache {
  chain prerouting {
    type filter hook prerouting priority raw
    ip daddr ${ipv4} th dport 53 notrack
    ip6 daddr ${ipv6} th dport 53 notrack
  }
  chain output {
    type filter hook output priority raw
    ip daddr ${ipv4} th dport 53 notrack
    ip6 daddr ${ipv6} th dport 53 notrack
    ip saddr ${ipv4} th sport 53 notrack
    ip6 saddr ${ipv6} th sport 53 notrack
  }
}`

describeEach([fairleadNftables, fairleadEbpf], (proxy) => {
  test('a cache at the cluster IP of the DNS Service answers, with its rules, until it goes', async () => {
    await using rig = await Rig.start(proxy, {}, [dns])
    const { node } = rig.cluster
    /** The programs of the node, and a pod; by both protocols. */
    const whoAnswers = async () => {
      const names = new Set<string>()
      for (const family of families)
        for (const port of [dnsUdp, dnsTcp])
          for (const from of [node, rig.cluster.host('caller')]) {
            const to = addressOf(at('cluster IP', dns, port), family)
            const transport = port === dnsUdp ? 'udp' : 'tcp'
            const outcome = await ask(from, { transport, ...to, patienceMs: 10_000 })
            names.add(outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind)
          }
      return [...names]
    }
    expect(await whoAnswers()).toEqual(['here-1'])

    // Otherwise the one of IPv6 cannot be listened at for a moment.
    node.ip(`address add ${ipv4} dev lo`, `address add ${ipv6} dev lo nodad`)
    const listeners = [
      listenTcp(node, 'the cache', 53),
      ...clusterIPs.map((ip) => listenUdp(node, 'the cache', ip, 53)),
    ]
    try {
      // Without its rules, packets go where the Service leads.
      await expect.poll(whoAnswers, soon).toEqual(['here-1'])
      node.run('nft', ['-f', '-'], { input: untracked })
      await expect.poll(whoAnswers, soon).toEqual(['the cache'])
    } finally {
      for (const listener of listeners) listener[Symbol.dispose]()
    }
    node.run('nft', ['delete', 'table', 'inet', 'cache'])
    node.ip(...clusterIPs.map((ip) => `address del ${ip} dev lo`))
    await expect.poll(whoAnswers, soon).toEqual(['here-1'])
  })
})
