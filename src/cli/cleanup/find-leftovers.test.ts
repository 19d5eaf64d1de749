import { expect, test } from 'vitest'
import { answerDelivery } from '../../backends/userspace/portals/answer-rules.ts'
import { systemClock } from '../../core/clock.ts'
import type { Findings } from '../../core/leftover.ts'
import { silentLogger } from '../../core/logger.ts'
import { MemoryAddresses } from '../../dataplane/addresses/memory-addresses.ts'
import { MemoryIpset } from '../../dataplane/ipset/memory-ipset.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../dataplane/ebpf/memory-kernel.ts'
import { findHostIptables } from '../../dataplane/iptables/cleanup/host-iptables.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import { MemoryIpvs } from '../../dataplane/ipvs/memory-ipvs.ts'
import { MemoryMarkedDelivery } from '../../dataplane/marked-delivery/memory-marked-delivery.ts'
import { MemoryNfacct } from '../../dataplane/nfacct/memory-nfacct.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import { MemoryRuleset } from '../../dataplane/nft/memory/memory-ruleset.ts'
import type { ChainShape } from '../../dataplane/nft/nft-ruleset.ts'
import { findLeftovers, modesOfChain } from './find-leftovers.ts'
import { renderLeftover } from './remove-leftovers.ts'

const { signal } = new AbortController()

test('a host without any tool, on which no kernel file tells of rules, has nothing to remove', async () => {
  expect(await find({})).toEqual({ removals: [], problems: [], notes: [] })
})

test('legacy tables in the kernel without a tool for them are reported, not taken for empty', async () => {
  const files = { '/proc/net/ip_tables_names': 'nat\nfilter\n' }
  expect((await find({ files })).problems).toEqual([
    'the kernel has legacy iptables tables (nat, filter) that cannot be looked at: install iptables-legacy',
  ])
})

test('tables of the nftables mode are reported where there is no nft to remove them', async () => {
  const nft = new MemoryRuleset({ hasTool: false })
  for (const family of ['ipv4', 'ipv6'] as const) nft.add({ family, name: 'fairlead' })
  nft.add({ family: 'ipv4', name: 'nat' })
  expect(await find({ nft })).toEqual({
    removals: [],
    problems: [
      'nf_tables: table ip fairlead exists, but nft, which removes it, is missing: install it',
      'nf_tables: table ip6 fairlead exists, but nft, which removes it, is missing: install it',
    ],
    notes: [],
  })
})

test('chains of a proxy that only iptables-nft could remove are reported where it is missing', async () => {
  const nft = new MemoryRuleset()
  nft.add({ family: 'ipv4', name: 'nat' }, new Map([['KUBE-SERVICES', { hook: undefined, ruleCount: 0 }]]))
  nft.add({ family: 'ipv6', name: 'nat' }, new Map([['POSTROUTING', { hook: undefined, ruleCount: 0 }]]))
  expect((await find({ nft })).problems).toEqual([
    'nf_tables: table ip nat holds chains of a proxy (KUBE-SERVICES), but iptables-nft, ' +
      'which removes them, is missing: install it',
  ])
})

test("where nothing else of a proxy is left, empty tables are somebody else's", async () => {
  const printed = {
    'iptables-nft --version': 'iptables v1.8.9 (nf_tables)\n',
    'iptables-nft-save': '*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n',
  }
  const nft = new MemoryRuleset()
  nft.add({ family: 'ipv4', name: 'nat' })
  expect(await find({ printed, nft })).toEqual({ removals: [], problems: [], notes: [] })
})

test('what is left is described with its place and the reason', async () => {
  const nfacct = new MemoryNfacct()
  await nfacct.ensure('localhost_nps_accepted_pkts', signal)
  await nfacct.ensure('mine', signal)
  const printed = {
    'iptables-nft --version': 'iptables v1.8.9 (nf_tables)\n',
    'iptables-nft-save': `*nat
:OUTPUT ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -j RETURN
COMMIT
`,
  }
  const chains = new Map<string, ChainShape>([
    ['OUTPUT', { hook: { name: 'output', policy: 'accept' }, ruleCount: 1 }],
    ['KUBE-SERVICES', { hook: undefined, ruleCount: 1 }],
  ])
  const nft = new MemoryRuleset()
  nft.add({ family: 'ipv4', name: 'nat' }, chains)
  nft.add({ family: 'ipv6', name: 'kube-proxy' })
  const findings = await find({ printed, nfacct, nft })
  expect(findings.problems).toEqual([])
  expect(lines(findings)).toEqual([
    'iptables-nft nat: rule -A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES ' +
      '(has the comment of a proxy)',
    'iptables-nft nat: chain KUBE-SERVICES with 1 rule (shared by all Services)',
    'nft: table ip6 kube-proxy (all that the nftables mode of kube-proxy makes)',
    'nft ip nat: chain OUTPUT (made by iptables-nft; empty after the clean-up)',
    'nft: table ip nat (made by iptables-nft; empty after the clean-up)',
    'nfacct: counter localhost_nps_accepted_pkts (counts packets for the metrics of the iptables mode)',
  ])
})

test('a kernel without counters has none to remove, but one that refuses to show them may', async () => {
  const nfacct = new MemoryNfacct()
  nfacct.refuseWith = 'unsupported'
  expect(await find({ nfacct })).toEqual({ removals: [], problems: [], notes: [] })
  nfacct.refuseWith = 'not-permitted'
  await expect(find({ nfacct })).rejects.toBeInstanceOf(NfacctError)
})

test('the routing rule of the userspace mode is found in the family that has it', async () => {
  const delivery = new MemoryMarkedDelivery(answerDelivery)
  await delivery.ensure('ipv6', signal)
  expect(lines(await find({ delivery }))).toEqual([
    'ipv6 routing: the rule from mark 0x1000 to table 4096, and the table (returns answers of pods to the userspace mode)',
  ])
})

test('chains that two modes have stay while one of them runs', () => {
  const modesOf = modesOfChain()
  expect(modesOf('nat', 'KUBE-SERVICES').toSorted()).toEqual(['iptables', 'ipvs'])
  expect(modesOf('filter', 'KUBE-SERVICES')).toEqual(['iptables'])
  expect(modesOf('nat', 'KUBE-SVC-NPX46M4PTMTKRN6Y')).toEqual(['iptables'])
  // In filter it guards loopback, for the iptables mode.
  expect(modesOf('nat', 'KUBE-FIREWALL')).toEqual(['ipvs'])
  expect(modesOf('filter', 'KUBE-FIREWALL')).toEqual(['iptables'])
  expect(modesOf('nat', 'KUBE-PORTALS-HOST')).toEqual(['userspace'])
})

interface Host {
  /** By command line, for iptables. What is not listed is not installed. */
  readonly printed?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
  readonly nft?: MemoryRuleset
  readonly nfacct?: MemoryNfacct
  readonly delivery?: MemoryMarkedDelivery
}

async function find({
  printed = {},
  files = {},
  nft = new MemoryRuleset({ hasTool: false }),
  nfacct = new MemoryNfacct(),
  delivery = new MemoryMarkedDelivery(answerDelivery),
}: Host): Promise<Findings> {
  const { exec } = scriptedExec((command) => {
    const stdout = printed[command]
    return stdout === undefined ? undefined : { stdout }
  })
  const readText = async (path: string) => files[path] ?? ''
  const iptables = await findHostIptables({ exec, clock: systemClock, log: silentLogger, readText }, signal)
  const ipvsDoors = {
    links: new MemoryAddresses(),
    ipset: new MemoryIpset(),
    openIpvs: async () => new MemoryIpvs(),
    readServerTable: async () => undefined,
  }
  const openBpf = async () => new MemoryBpf(new MemoryKernel({ bpffs: '/sys/fs/bpf', cgroups: [] }))
  const doors = { iptables, nft, nfacct, delivery, ...ipvsDoors, openBpf, pins: '/sys/fs/bpf/fairlead' }
  return findLeftovers({ ...doors, ownNamespace: async () => undefined }, signal)
}

function lines({ removals }: Findings): readonly string[] {
  return removals.flatMap(({ leftovers }) => leftovers.map(renderLeftover))
}
