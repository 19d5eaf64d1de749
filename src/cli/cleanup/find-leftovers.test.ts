import { expect, test } from 'vitest'
import { answerDelivery } from '../../backends/userspace/portals/answer-rules.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import { MemoryMarkedDelivery } from '../../dataplane/marked-delivery/memory-marked-delivery.ts'
import { MemoryNfacct } from '../../dataplane/nfacct/memory-nfacct.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import type { CleanupHost } from './cleanup-host.ts'
import { findLeftovers } from './find-leftovers.ts'
import { findHostIptables } from './host-iptables.ts'
import type { Findings } from './leftover.ts'
import { renderLeftover } from './render-leftover.ts'

const { signal } = new AbortController()

test('a host without any tool, on which no kernel file tells of rules, has nothing to remove', async () => {
  expect(await find({})).toEqual({ leftovers: [], problems: [] })
})

test('legacy tables in the kernel without a tool for them are reported, not taken for empty', async () => {
  const files = { '/proc/net/ip_tables_names': 'nat\nfilter\n' }
  expect((await find({ files })).problems).toEqual([
    'the kernel has legacy iptables tables (nat, filter) that cannot be looked at: install iptables-legacy',
  ])
})

test('tables of the nftables mode are reported where there is no nft to remove them', async () => {
  const tables = (['ipv4', 'ipv6'] as const).map((family) => ({ family, name: 'fairlead' }))
  const { leftovers, problems } = await find({ tables: [...tables, { family: 'ipv4', name: 'nat' }] })
  expect(leftovers).toEqual([])
  expect(problems).toEqual([
    'nf_tables: table ip fairlead exists, but nft, which removes it, is missing: install it',
    'nf_tables: table ip6 fairlead exists, but nft, which removes it, is missing: install it',
  ])
})

test('chains of a proxy that only iptables-nft could remove are reported where it is missing', async () => {
  const printed = {
    'nft list tables': 'table ip nat\ntable ip6 nat\n',
    'nft --terse list table ip nat': 'table ip nat {\n\tchain KUBE-SERVICES {\n\t}\n}\n',
    'nft --terse list table ip6 nat': 'table ip6 nat {\n\tchain POSTROUTING {\n\t}\n}\n',
  }
  expect((await find({ printed })).problems).toEqual([
    'nf_tables: table ip nat holds chains of a proxy (KUBE-SERVICES), but iptables-nft, ' +
      'which removes them, is missing: install it',
  ])
})

test("where nothing else of a proxy is left, empty tables are somebody else's", async () => {
  const printed = {
    'iptables-nft --version': 'iptables v1.8.9 (nf_tables)\n',
    'iptables-nft-save': '*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n',
    'nft list tables': 'table ip nat\n',
  }
  expect(await find({ printed })).toEqual({ leftovers: [], problems: [] })
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
    'nft list tables': 'table ip nat\ntable ip6 kube-proxy\ntable inet kube-proxy\n',
    'nft --terse list table ip nat': `table ip nat {
	chain OUTPUT {
		type nat hook output priority -100; policy accept;
		counter packets 0 bytes 0 jump KUBE-SERVICES
	}

	chain KUBE-SERVICES {
		counter packets 0 bytes 0 return
	}
}
`,
  }
  const { leftovers, problems } = await find({ printed, nfacct })
  expect(problems).toEqual([])
  expect(leftovers.map(renderLeftover)).toEqual([
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
  expect(await find({ nfacct })).toEqual({ leftovers: [], problems: [] })
  nfacct.refuseWith = 'not-permitted'
  await expect(find({ nfacct })).rejects.toBeInstanceOf(NfacctError)
})

test('the routing rule of the userspace mode is found in the family that has it', async () => {
  const delivery = new MemoryMarkedDelivery(answerDelivery)
  await delivery.ensure('ipv6', signal)
  const { leftovers } = await find({ delivery })
  expect(leftovers.map(renderLeftover)).toEqual([
    'ipv6 routing: the rule from mark 0x1000 to table 4096, and the table (returns answers of pods to the userspace mode)',
  ])
})

interface Host {
  /** By command line. What is not listed is not installed. */
  readonly printed?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
  readonly nfacct?: MemoryNfacct
  readonly delivery?: MemoryMarkedDelivery
  /** What the kernel says where there is no nft. */
  readonly tables?: Awaited<ReturnType<CleanupHost['listTables']>>
}

async function find({
  printed = {},
  files = {},
  nfacct = new MemoryNfacct(),
  tables = [],
  delivery = new MemoryMarkedDelivery(answerDelivery),
}: Host): Promise<Findings> {
  const { exec } = scriptedExec((command) => {
    const stdout = printed[command]
    return stdout === undefined ? undefined : { stdout }
  })
  const iptables = await findHostIptables({ exec, clock: systemClock, log: silentLogger }, signal)
  const readText = (path: string) => Promise.resolve(files[path] ?? '')
  return findLeftovers({ exec, iptables, nfacct, delivery, listTables: async () => tables, readText }, signal)
}
